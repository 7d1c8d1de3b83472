package suite_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

// of are the events of one kind so far.
func (w *witness) of(kind redlatch.EventKind) (events []redlatch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

func TestTheReasonOfALossIsOneOfAFew(t *testing.T) {
	plain := func(c *redis.Client, o ...redlatch.Option) redlatch.Locker { return rlock.New(c, "x", o...) }
	nothing := func(*miniredis.Miniredis) {}
	for reason, c := range map[redlatch.LossReason]struct {
		lock   func(c *redis.Client, o ...redlatch.Option) redlatch.Locker
		option redlatch.Option
		fault  func(server *miniredis.Miniredis)
	}{
		redlatch.ReasonTaken:      {plain, redlatch.WithWatchdogTimeout(3 * time.Second), (*miniredis.Miniredis).FlushAll},
		redlatch.ReasonUnanswered: {plain, redlatch.WithWatchdogTimeout(3 * time.Second), func(s *miniredis.Miniredis) { s.SetError("LOADING") }},
		redlatch.ReasonLeaseOver:  {plain, redlatch.WithLease(3 * time.Second), nothing},
		redlatch.ReasonLimitOver:  {plain, redlatch.WithMaxHold(3 * time.Second), nothing},
		redlatch.ReasonMembers: {
			lock: func(c *redis.Client, o ...redlatch.Option) redlatch.Locker {
				member := func(name string) redlatch.Locker { return rlock.New(c, name, briefly.Linger(0)) }
				return multilock.New([]redlatch.Locker{member("x"), member("y")}, o[1:]...)
			},
			option: redlatch.WithWatchdogTimeout(3 * time.Second),
			fault:  func(s *miniredis.Miniredis) { s.Del("y") },
		},
	} {
		t.Run(string(reason), func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				server, client := redistest.InMemory(t)
				var w witness
				hold, err := c.lock(client, briefly.Linger(0), redlatch.WithObserver(&w), c.option).Lock(t.Context())
				require.NoError(t, err)
				ctx := hold.Context(t.Context())
				c.fault(server)
				<-ctx.Done()
				synctest.Wait()
				server.SetError("")
				var loss *redlatch.LossError
				require.ErrorAs(t, hold.Unlock(t.Context()), &loss)
				require.Equal(t, reason, loss.Reason)
				require.ErrorAs(t, context.Cause(ctx), &loss)
				require.Equal(t, reason, loss.Reason)
				lost := w.of(redlatch.EventLost)
				require.Len(t, lost, 1)
				require.Equal(t, reason, lost[0].Reason)
			})
		})
	}
}

// A lock that another process has released comes by a message.
func TestTheEventOfALockThatWasPassedOnSaysSo(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, client := redistest.InMemory(t)
		other := redis.NewClient(redistest.InMemoryOptions(server))
		t.Cleanup(func() { require.NoError(t, other.Close()) })
		hold, err := rlock.New(other, "x", briefly.Linger(0)).Lock(t.Context())
		require.NoError(t, err)
		var w witness
		got := make(chan *redlatch.Hold, 1)
		go func() {
			next, err := rlock.New(client, "x", briefly.Linger(0), redlatch.WithObserver(&w)).Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- next
		}()
		synctest.Wait()
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, (<-got).Unlock(t.Context()))
		require.Equal(t, redlatch.PathRemote, w.of(redlatch.EventAcquired)[0].Path)
	})
}
