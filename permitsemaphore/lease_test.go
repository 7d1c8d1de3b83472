package permitsemaphore_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// A late is a hook of a client by which the next script is executed, or answered, a second late.
type late struct{ sent, answer atomic.Bool }

func (*late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.sent.CompareAndSwap(true, false) {
			time.Sleep(time.Second)
		}
		answer := h.answer.CompareAndSwap(true, false)
		err := next(ctx, cmd)
		if answer {
			time.Sleep(time.Second)
		}
		return err
	}
}

func (*late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A change of the lease finds a permit gone that is being released, which is no loss of the others.
func TestALeaseIsChangedBesideARelease(t *testing.T) {
	ctx := context.Background()
	for what, c := range map[string]struct {
		release func(s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error
		want    error // of the change
		left    int   // permits
	}{
		"of one by its id": {func(s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error { return s.Release(ctx, id(p)) }, nil, 1},
		"of all by their ids": {func(s *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error { return s.Release(ctx, p.IDs()...) },
			redlatch.ErrReleased, 0},
		"of the permit": {func(_ *permitsemaphore.Semaphore, p *permitsemaphore.Permit) error { return p.Release(ctx) },
			redlatch.ErrReleased, 0},
	} {
		for _, answer := range []bool{false, true} {
			when := "which is executed before it"
			if answer {
				when = "which is not answered yet"
			}
			t.Run(what+", "+when, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					_, client := redistest.InMemory(t)
					var told events
					s := permitsemaphore.New(client, "pool", told.option(), briefly.Linger(0))
					_, err := s.TrySetPermits(ctx, 3)
					require.NoError(t, err)
					p := acquire(t, s, 2)
					require.NoError(t, p.UpdateLease(ctx, time.Minute)) // the server knows the scripts
					require.NoError(t, s.Release(ctx, id(p)))
					require.NoError(t, p.Release(ctx))
					told.clear()
					h := &late{}
					client.AddHook(h)

					p = acquire(t, s, 2)
					first, second := func() error { return c.release(s, p) }, func() error { return p.UpdateLease(ctx, long) }
					if h.sent.Store(!answer); !answer {
						first, second = second, first
					}
					h.answer.Store(answer)
					done := make(chan error, 1)
					go func() { done <- first() }()
					time.Sleep(100 * time.Millisecond)
					released, changed := error(nil), second()
					if released = <-done; !answer {
						released, changed = changed, released
					}
					require.NoError(t, released)
					require.ErrorIs(t, changed, c.want)
					require.Zero(t, told.count(redlatch.EventLost))
					require.Equal(t, c.left > 0, p.Valid())
					requireState(t, client, "pool", strconv.Itoa(3-c.left), int64(c.left))
					if c.left > 0 {
						require.NoError(t, p.Release(ctx))
					}
					require.Equal(t, 1, told.count(redlatch.EventReleased))
				})
			})
		}
	}
}
