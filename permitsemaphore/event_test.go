package permitsemaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// However the end of a permit comes about, and whatever comes after it, one event tells it.
func TestEachAcquisitionOfPermitsIsFollowedByOneEnd(t *testing.T) {
	for want, end := range map[string]func(t *testing.T, s *permitsemaphore.Semaphore, lose func()){
		"released": func(t *testing.T, s *permitsemaphore.Semaphore, _ func()) {
			permit := acquire(t, s, 2)
			require.NoError(t, s.Release(t.Context(), permit.IDs()[0]))
			require.NoError(t, permit.Release(t.Context()))
			require.ErrorIs(t, permit.Release(t.Context()), redlatch.ErrReleased)
		},
		"left": func(t *testing.T, s *permitsemaphore.Semaphore, _ func()) {
			permit := acquire(t, s, 2)
			work := permit.Context(context.Background())
			permit.Leave()
			require.ErrorIs(t, context.Cause(work), redlatch.ErrReleased)
			require.False(t, permit.Valid())
			permit.Leave()
			require.ErrorIs(t, permit.Release(t.Context()), redlatch.ErrReleased)
		},
		"lost": func(t *testing.T, s *permitsemaphore.Semaphore, lose func()) {
			permit := acquire(t, s, 1)
			work := permit.Context(context.Background())
			lose()
			<-work.Done()
			require.ErrorIs(t, permit.Release(t.Context()), redlatch.ErrLost)
		},
		"lost, as its release finds": func(t *testing.T, s *permitsemaphore.Semaphore, lose func()) {
			permit := acquire(t, s, 1)
			lose()
			require.ErrorIs(t, permit.Release(t.Context()), redlatch.ErrLost)
		},
	} {
		t.Run(want, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				mini, client := redistest.InMemory(t)
				var told events
				s := permitsemaphore.New(client, "s", briefly.Linger(0), told.option())
				require.NoError(t, s.SetPermits(t.Context(), 3))
				end(t, s, func() { mini.FlushAll() })
				time.Sleep(time.Minute)
				require.Equal(t, 1, told.count(redlatch.EventAcquired))
				ends := map[redlatch.EventKind]int{}
				for _, kind := range []redlatch.EventKind{redlatch.EventReleased, redlatch.EventLost, redlatch.EventForgotten, redlatch.EventLeft} {
					if n := told.count(kind); n > 0 {
						ends[kind] = n
					}
				}
				kind := redlatch.EventLost
				switch want {
				case "released":
					kind = redlatch.EventReleased
				case "left":
					kind = redlatch.EventLeft
				}
				require.Equal(t, map[redlatch.EventKind]int{kind: 1}, ends)
				owners := told.owners(redlatch.EventAcquired)
				require.NotEmpty(t, owners[0])
				require.Equal(t, owners, told.owners(kind), "an end can be matched with its acquisition")
			})
		})
	}
}

// It comes back with its lease, which nothing renews, and nobody is warned.
func TestAPermitThatIsLeftComesBackWithItsLease(t *testing.T) {
	for name, opts := range map[string][]redlatch.Option{"its own": {redlatch.WithLease(10 * time.Second)}, "the watchdog's": nil} {
		t.Run(name, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				_, client := redistest.InMemory(t)
				var log notebook
				s := permitsemaphore.New(client, "s", briefly.Linger(0), log.option(), permitsemaphore.WithPermits(1))
				permit, err := s.Acquire(t.Context(), 1, opts...)
				require.NoError(t, err)
				time.Sleep(time.Second)
				permit.Leave()
				_, err = s.TryAcquire(t.Context(), 1)
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
				next, err := s.Acquire(t.Context(), 1)
				require.NoError(t, err)
				require.NoError(t, next.Release(t.Context()))
				require.Empty(t, log.lines)
			})
		})
	}
}

// Its ids may be in use by others until its lease is over.
func TestAPermitWithALeaseThatIsDroppedIsLeftToIt(t *testing.T) {
	s, _, told := collected(t)
	func() {
		_, err := s.Acquire(t.Context(), 1, redlatch.WithLease(time.Minute))
		require.NoError(t, err)
	}()
	collect()
	told.await(t, redlatch.EventLeft, 1)
	require.Zero(t, told.count(redlatch.EventForgotten))
}

// Nothing is acquired with it, and nothing is told.
func TestOfAPermitForNothingNobodyIsTold(t *testing.T) {
	s, _, told := collected(t)
	permit := acquire(t, s, 0)
	require.NoError(t, permit.Release(t.Context()))
	require.Zero(t, told.count(redlatch.EventAcquired))
	require.Zero(t, told.count(redlatch.EventReleased))
}
