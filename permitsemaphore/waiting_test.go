package permitsemaphore_test

import (
	"context"
	"io"
	"log/slog"
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

var discard = slog.New(slog.DiscardHandler)

// result is what an Acquire in the background came to.
type result struct {
	permit *permitsemaphore.Permit
	err    error
}

func acquiring(ctx context.Context, s *permitsemaphore.Semaphore, n int64, opts ...redlatch.Option) <-chan result {
	done := make(chan result, 1)
	go func() {
		p, err := s.Acquire(ctx, n, opts...)
		done <- result{p, err}
	}()
	return done
}

func receive(t testing.TB, done <-chan result) *permitsemaphore.Permit {
	t.Helper()
	select {
	case r := <-done:
		require.NoError(t, r.err)
		return r.permit
	case <-time.After(30 * time.Second):
		t.Fatal("still waiting after 30 s")
		return nil
	}
}

// listened returns when n processes listen to the semaphore.
func listened(t testing.TB, srv *redistest.Server, name string, n int64) {
	t.Helper()
	client := srv.Client(t)
	channel := "redisson_sc:{" + name + "}"
	eventually(t, "somebody listens", func() bool {
		return client.PubSubNumSub(context.Background(), channel).Val()[channel] >= n
	})
}

func TestAReleaseLetsEverybodyGoWhoFits(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, client := fresh(t, srv, 3, redlatch.WithPoll(long), permitsemaphore.WithoutExpiry())
		other := permitsemaphore.New(srv.Client(t), s.Name(), briefly.Linger(0), redlatch.WithPoll(long), permitsemaphore.WithoutExpiry())
		p := acquire(t, s, 3)
		waiting := []<-chan result{
			acquiring(t.Context(), s, 1), acquiring(t.Context(), s, 1), acquiring(t.Context(), other, 1),
		}
		listened(t, srv, s.Name(), 2)
		require.NoError(t, p.Release(t.Context()))
		for _, w := range waiting {
			require.NoError(t, receive(t, w).Release(t.Context()))
		}
		requireState(t, client, s.Name(), "3", 0)
	})
}

func TestAddingPermitsWakesWaiters(t *testing.T) {
	for name, more := range map[string]func(ctx context.Context, s *permitsemaphore.Semaphore) error{
		"add":     func(ctx context.Context, s *permitsemaphore.Semaphore) error { return second(s.AddPermits(ctx, 2)) },
		"set":     func(ctx context.Context, s *permitsemaphore.Semaphore) error { return s.SetPermits(ctx, 2) },
		"try set": func(ctx context.Context, s *permitsemaphore.Semaphore) error { return second(s.TrySetPermits(ctx, 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				s := permitsemaphore.New(srv.Client(t), srv.Key(t, "s"), briefly.Linger(0), redlatch.WithPoll(long))
				w := acquiring(t.Context(), s, 2)
				listened(t, srv, s.Name(), 1)
				require.NoError(t, more(t.Context(), s))
				require.NoError(t, receive(t, w).Release(t.Context()))
			})
		})
	}
}

// Nobody sends a message when a lease runs out. The waiter knows the earliest deadline, by the server's clock.
func TestAWaiterTakesWhatExpiresWithoutAMessage(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, client := fresh(t, srv, 2, redlatch.WithPoll(long))
		p := acquire(t, s, 1, redlatch.WithLease(time.Second))
		q := acquire(t, s, 1, redlatch.WithLease(2*time.Second))
		w := receive(t, acquiring(t.Context(), s, 2)) // needs both
		require.ErrorIs(t, p.Release(t.Context()), redlatch.ErrLost)
		require.ErrorIs(t, q.Release(t.Context()), redlatch.ErrLost)
		requireState(t, client, s.Name(), "0", 2)
		require.NoError(t, w.Release(t.Context()))
		requireState(t, client, s.Name(), "2", 0)
	})
}

func TestAnEndedWaitTakesNothingAndSaysWhy(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		s, client := fresh(t, srv, 1)
		p := acquire(t, s, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		w := acquiring(ctx, s, 1)
		listened(t, srv, s.Name(), 1)
		cancel(io.EOF)
		r := <-w
		require.Nil(t, r.permit)
		require.ErrorIs(t, r.err, redlatch.ErrNotAcquired, "it was refused before it waited")
		_, try := s.TryAcquire(ctx, 1)
		_, unasked := s.Acquire(ctx, 1)
		for _, err := range []error{try, unasked} {
			require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "it has not asked")
		}
		for _, err := range []error{r.err, try, unasked} {
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, io.EOF)
			require.NotErrorIs(t, err, redlatch.ErrUnavailable)
		}
		require.NoError(t, p.Release(t.Context()))
		// An attempt that was on its way when the wait ended may take the permit that was released, until it is undone.
		redistest.Eventually(t, "the permit is there", func() bool {
			available, taken := state(t, client, s.Name())
			return available == "1" && taken == 0
		})
	})
}

func TestAWaitWhoseTimeIsOverTakesNothingAndSaysThatItWasRefused(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		s := permitsemaphore.New(client, "s", briefly.Linger(0))
		require.NoError(t, s.SetPermits(t.Context(), 1))
		p := acquire(t, s, 1)
		_, err := s.Acquire(t.Context(), 1, redlatch.WithWait(20*time.Millisecond))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, redlatch.ErrUnavailable)
		require.NoError(t, p.Release(t.Context()))
		requireState(t, client, s.Name(), "1", 0)
	})
}

// Those of other processes who wait for what had expired would learn of it at their next question only.
func TestAnAcquisitionTellsOfWhatHadExpiredAndItDoesNotTake(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		s := permitsemaphore.New(client, "pool", briefly.Linger(0), redlatch.WithLogger(discard))
		_, err := s.TrySetPermits(t.Context(), 3)
		require.NoError(t, err)
		acquire(t, s, 3, redlatch.WithLease(time.Second))
		time.Sleep(2 * time.Second)
		messages := client.Subscribe(t.Context(), "redisson_sc:{pool}")
		defer messages.Close()
		_, err = messages.Receive(t.Context())
		require.NoError(t, err)
		p := acquire(t, s, 1)
		message, err := messages.ReceiveTimeout(t.Context(), time.Second)
		require.NoError(t, err)
		require.Equal(t, "2", message.(*redis.Message).Payload)
		require.NoError(t, p.Release(t.Context()))
	})
}

// The error and the observer tell the same, in the words of every other lock and semaphore.
func TestATryThatIsRefusedSaysWhy(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		var seen []redlatch.Event
		s := permitsemaphore.New(client, "s", briefly.Linger(0), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventRefused {
				seen = append(seen, e)
			}
		})))
		require.NoError(t, s.SetPermits(t.Context(), 1))
		_, few := s.TryAcquire(t.Context(), 2)
		require.EqualError(t, few, `redlatch: not acquired: permit semaphore "s" has 1 permit in all, and 2 are wanted; ask for fewer, or call AddPermits`)
		require.ErrorIs(t, few, redlatch.ErrNotAcquired)
		require.Equal(t, few, seen[0].Err)

		ctx, cancel := context.WithCancel(t.Context())
		waiter := acquiring(ctx, s, 2)
		synctest.Wait()
		_, behind := s.TryAcquire(t.Context(), 1)
		require.EqualError(t, behind, `redlatch: not acquired: permit semaphore "s" is waited for by others of this process`)
		require.ErrorIs(t, behind, redlatch.ErrNotAcquired)
		require.Equal(t, behind, seen[1].Err)
		cancel()
		require.ErrorIs(t, (<-waiter).err, context.Canceled)
	})
}
