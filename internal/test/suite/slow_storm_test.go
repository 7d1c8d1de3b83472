package suite_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// calls are one of each primitive, each of which waits for something and gives it back.
func calls(client redlatch.Client, opts ...redlatch.Option) map[string]func(ctx context.Context, opts ...redlatch.Option) error {
	all := map[string]func(ctx context.Context, opts ...redlatch.Option) error{}
	for kind, lock := range withReader(client, opts...) {
		all[kind] = func(ctx context.Context, opts ...redlatch.Option) error {
			return redlatch.Do(ctx, lock, func(context.Context) error { return nil }, opts...)
		}
	}
	pool, permits, latch := semaphore.New(client, "pool", opts...), permitsemaphore.New(client, "permits", opts...), countdownlatch.New(client, "latch", opts...)
	all["semaphore"] = func(ctx context.Context, opts ...redlatch.Option) error {
		err := pool.Acquire(ctx, 2, opts...)
		if err == nil {
			err = pool.Release(context.Background(), 2)
		}
		return err
	}
	all["permit_semaphore"] = func(ctx context.Context, opts ...redlatch.Option) error {
		permit, err := permits.Acquire(ctx, 2, opts...)
		if err == nil {
			err = permit.Release(context.Background())
		}
		return err
	}
	all["latch"] = func(ctx context.Context, opts ...redlatch.Option) error { return latch.Await(ctx, opts...) }
	return all
}

// withReader are the locks with the other side of the read-write lock.
func withReader(client redlatch.Client, opts ...redlatch.Option) map[string]redlatch.Locker {
	all := locks(client, opts...)
	all["read_lock"] = rwlock.New(client, "rw", opts...).Reader()
	return all
}

// Everything is slow here, and much of it is cancelled, while the observer takes a lock of its own, or panics, at what it is told.
func TestAStormOfSlowWaitsLeavesNothing(t *testing.T) {
	redistest.EachAlone(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		yes(t, call(semaphore.New(client, "pool").TrySetPermits(t.Context(), 2)))
		yes(t, call(permitsemaphore.New(client, "permits").TrySetPermits(t.Context(), 2)))
		yes(t, call(countdownlatch.New(client, "latch").TrySetCount(t.Context(), 1)))
		own := rlock.New(client, "the observer's")
		var told atomic.Int64
		observer := redlatch.WithObserver(redlatch.ObserverFunc(func(ctx context.Context, e redlatch.Event) {
			if e.Kind != redlatch.EventSlowWait && e.Kind != redlatch.EventLongHold {
				return
			}
			if told.Add(1)%2 == 0 {
				panic("ouch")
			}
			if hold, err := own.TryLock(ctx, redlatch.WithSlowWait(1)); err == nil {
				_ = hold.Unlock(context.Background())
			}
		}))
		logger := redlatch.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
		var storm sync.WaitGroup
		for process := range 2 {
			client := client
			if process > 0 {
				client = srv.Client(t)
			}
			for kind, wait := range calls(client, observer, logger) {
				for range 6 {
					storm.Go(func() {
						for i := range 15 {
							ctx, cancel := context.WithCancel(t.Context())
							leaves := time.AfterFunc(rand.N(10*time.Millisecond), cancel)
							opts := []redlatch.Option{redlatch.WithSlowWait(rand.N(2 * time.Millisecond))}
							if i%3 == 0 {
								opts = append(opts, redlatch.WithWait(rand.N(5*time.Millisecond)+1))
							}
							if kind != "semaphore" && kind != "latch" {
								opts = append(opts, redlatch.WithLongHold(rand.N(2*time.Millisecond)))
							}
							_ = wait(ctx, opts...)
							leaves.Stop()
							cancel()
						}
					})
				}
			}
		}
		storm.Wait()
		require.Positive(t, told.Load())
		require.NoError(t, countdownlatch.New(client, "latch").CountDown(t.Context()))
		for kind, wait := range calls(srv.Client(t)) {
			require.NoError(t, wait(t.Context(), redlatch.WithWait(time.Minute)), kind)
		}
	})
}

// The client goes while calls wait, look-ups are under way and others are due.
func TestAClientThatIsClosedAmongSlowWaits(t *testing.T) {
	redistest.EachAlone(t, func(t *testing.T, srv *redistest.Server) {
		other := srv.Client(t)
		var holds []*redlatch.Hold
		client := srv.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
		var seen slowness
		var closed sync.Once
		seen.then = func() { closed.Do(func() { _ = client.Close() }) }
		var waiting sync.WaitGroup
		for i := range 30 {
			name := srv.Key(t, fmt.Sprint("order", i))
			holds = append(holds, acquired(t, rlock.New(other, name)))
			waiting.Go(func() {
				_, err := rlock.New(client, name).Lock(t.Context(), redlatch.WithSlowWait(time.Millisecond), seen.option(), redlatch.WithOutage(time.Second))
				require.Error(t, err)
			})
		}
		waiting.Wait()
		for _, hold := range holds {
			require.NoError(t, hold.Unlock(t.Context()))
		}
	})
}
