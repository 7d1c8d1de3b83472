package permitsemaphore_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// A meddler is a hook of a client that has something else happen to the next script.
type meddler struct {
	next func(execute func() error) error // nil: nothing
}

func (*meddler) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		meddle := m.next
		if meddle == nil || !strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd)
		}
		m.next = nil
		err := meddle(func() error { return next(ctx, cmd) })
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

func (*meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A release whose first reply is lost finds fewer permits than it should when it is sent again. It was not the one that
// took them if it finds some of them, or if it comes too late to know.
func TestAReleaseThatIsSentAgainTellsALossFromItsOwnEffect(t *testing.T) {
	for what, c := range map[string]struct {
		meddle func(execute, steal func() error) error
		lost   bool
	}{
		"the first was executed":                     {func(execute, _ func() error) error { return execute() }, false},
		"the first was not, and a permit was stolen": {func(_, steal func() error) error { return steal() }, true},
		"the first was executed, perhaps too late": {func(execute, _ func() error) error {
			time.Sleep(3 * time.Second)
			return execute()
		}, true},
	} {
		t.Run(what, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				server, client := redistest.InMemory(t)
				thief := redis.NewClient(redistest.InMemoryOptions(server))
				t.Cleanup(func() { _ = thief.Close() })
				m := &meddler{}
				client.AddHook(m)
				s := permitsemaphore.New(client, "pool", briefly.Linger(0))
				require.NoError(t, s.SetPermits(t.Context(), 3))
				require.NoError(t, acquire(t, s, 2).Release(t.Context())) // the server knows the scripts
				p := acquire(t, s, 2, redlatch.WithLease(2*time.Second))
				m.next = func(execute func() error) error {
					require.NoError(t, c.meddle(execute, func() error {
						return permitsemaphore.New(thief, "pool", briefly.Linger(0)).Release(t.Context(), id(p))
					}))
					return errCut
				}
				err := p.Release(t.Context())
				if c.lost {
					require.ErrorIs(t, err, redlatch.ErrLost)
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

// Whoever releases a permit by its id has it until that is over; the others are not lost with it, and it is told once.
func TestAPermitWhoseIDsAreBeingReleasedIsGivenBackWithoutLoss(t *testing.T) {
	for n := 1; n <= 2; n++ {
		redistest.Bubble(t, func(t *testing.T) {
			_, client := redistest.InMemory(t)
			m := &meddler{}
			client.AddHook(m)
			var told events
			s := permitsemaphore.New(client, "pool", briefly.Linger(0))
			require.NoError(t, s.SetPermits(t.Context(), 3))
			require.NoError(t, s.Release(t.Context(), id(acquire(t, s, 1)))) // the server knows the scripts
			p := acquire(t, s, 2, told.option())
			heard := make(chan struct{})
			m.next = func(execute func() error) error {
				err := execute()
				<-heard
				return err
			}
			byID := make(chan error)
			go func() { byID <- s.Release(t.Context(), p.IDs()[:n]...) }()
			synctest.Wait()
			err := p.Release(t.Context())
			close(heard)
			require.NoError(t, <-byID)
			require.NoError(t, err)
			require.Equal(t, 1, told.count(redlatch.EventReleased))
			left, err := s.AvailablePermits(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 3, left)
		})
	}
}

func TestAPermitWhoseIDsWereAllReleasedIsReleased(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		var told events
		s, _ := apart(t, told.option())
		p := acquire(t, s, 2)
		ctx, ids := p.Context(t.Context()), p.IDs()
		require.NoError(t, s.Release(t.Context(), ids...))
		require.ErrorIs(t, context.Cause(ctx), redlatch.ErrReleased)
		require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrReleased)
		require.Equal(t, 1, told.count(redlatch.EventReleased))
		require.Equal(t, ids[0], id(p), "by which it was known")
	})
}

// A release by ids that releases none leaves the Permit as attentive as it was.
func TestAPermitIsMissedAfterAReleaseByItsIDThatWasRefused(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, client := redistest.InMemory(t)
		elsewhere := redis.NewClient(redistest.InMemoryOptions(server))
		t.Cleanup(func() { _ = elsewhere.Close() })
		s := permitsemaphore.New(client, "pool", briefly.Linger(0))
		require.NoError(t, s.SetPermits(t.Context(), 2))
		gone := acquire(t, s, 1)
		require.NoError(t, gone.Release(t.Context()))
		p := acquire(t, s, 2)
		require.ErrorIs(t, s.Release(t.Context(), id(p), id(gone)), redlatch.ErrNotHeld)
		require.NoError(t, permitsemaphore.New(elsewhere, "pool", briefly.Linger(0)).Release(t.Context(), id(p)))
		ctx, cancel := context.WithTimeout(p.Context(t.Context()), time.Minute)
		defer cancel()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), redlatch.ErrLost)
		require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrLost)
	})
}

// What is uncertain is carried through, so the permit will not be there much longer.
func TestAPermitGoesOnWithoutTheOneWhoseReleaseByItsIDIsUncertain(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		s, o := apart(t, redlatch.WithReleaseTimeout(time.Second))
		p := acquire(t, s, 2)
		require.NoError(t, s.Release(t.Context(), id(acquire(t, s, 1)))) // the server knows the scripts
		ids := p.IDs()
		o.begins.Store(true)
		require.ErrorIs(t, s.Release(t.Context(), ids[0]), redlatch.ErrUncertain)
		require.Equal(t, ids[1:], p.IDs())
		o.on.Store(false)
		ctx := p.Context(t.Context())
		time.Sleep(time.Minute)
		require.NoError(t, ctx.Err())
		require.NoError(t, p.Release(t.Context()))
	})
}

func TestAnIDIsOfNoUseToAnotherSemaphore(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		pool := permitsemaphore.New(client, "pool", briefly.Linger(0))
		other := permitsemaphore.New(client, "other", briefly.Linger(0))
		for _, s := range []*permitsemaphore.Semaphore{pool, other} {
			require.NoError(t, s.SetPermits(t.Context(), 1))
		}
		p := acquire(t, pool, 1)
		require.ErrorIs(t, other.UpdateLease(t.Context(), id(p), time.Second), redlatch.ErrNotHeld)
		require.ErrorIs(t, other.Release(t.Context(), id(p)), redlatch.ErrNotHeld)
		ctx := p.Context(t.Context())
		time.Sleep(time.Minute)
		require.NoError(t, ctx.Err())
		require.NoError(t, p.Release(t.Context()))
	})
}

// The renewals that come before the end do not move it.
func TestMaxHoldEndsARenewedPermitInTime(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		s, _ := apart(t, redlatch.WithWatchdogTimeout(900*time.Millisecond))
		start := time.Now()
		p := acquire(t, s, 1, redlatch.WithMaxHold(2500*time.Millisecond))
		<-p.Context(t.Context()).Done()
		require.LessOrEqual(t, time.Since(start), 2500*time.Millisecond)
		require.Greater(t, time.Since(start), 2*time.Second)
		require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrLost)
	})
}

func TestNoLeaseLastsLongerThanMaxHold(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		s, _ := apart(t)
		for _, lease := range []time.Duration{permitsemaphore.NoExpiry, time.Hour} {
			p := acquire(t, s, 1, redlatch.WithMaxHold(time.Minute))
			time.Sleep(time.Second)
			require.NoError(t, p.UpdateLease(t.Context(), lease))
			left, err := s.LeaseTime(t.Context(), id(p))
			require.NoError(t, err)
			require.Equal(t, 59*time.Second, left)
			require.NoError(t, p.Release(t.Context()))
		}
	})
}

func TestAPermitWhoseLeaseWasUpdatedIsRenewedNoLonger(t *testing.T) {
	for _, lease := range []time.Duration{10 * time.Second, 2 * time.Minute} {
		redistest.Bubble(t, func(t *testing.T) {
			s, _ := apart(t)
			p := acquire(t, s, 1)
			ctx, cancel := context.WithTimeout(p.Context(t.Context()), time.Hour)
			defer cancel()
			time.Sleep(time.Minute) // it is renewed
			start := time.Now()
			require.NoError(t, p.UpdateLease(t.Context(), lease))
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), redlatch.ErrLost)
			require.LessOrEqual(t, time.Since(start), lease)
			require.Greater(t, time.Since(start), lease*9/10)
			require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrLost)
		})
	}
}
