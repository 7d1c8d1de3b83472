package library

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func config(srv *redistest.Server) Config {
	return Config{Addr: srv.Addr, Lease: 30 * time.Second, Poll: 2 * time.Millisecond}
}

func open(t testing.TB, l Library, config Config) Client {
	t.Helper()
	client, err := l.Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// An adapter that let two in would make its library look fast.
func TestOneKeyAdmitsOneAtATime(t *testing.T) {
	srv := redistest.Process(t)
	for _, l := range All {
		if !l.Contends {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			const callers, rounds = 4, 25
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a lost wake-up costs three seconds
			defer cancel()
			var inside, pairs atomic.Int64
			var wg sync.WaitGroup
			for range 2 {
				client := open(t, l, config(srv))
				for range callers {
					handle, err := client.Handle("key of " + l.Name)
					require.NoError(t, err)
					wg.Go(func() {
						for range rounds {
							letGo, err := take(ctx, handle)
							if err != nil {
								t.Error(err)
								return
							}
							if n := inside.Add(1); n != 1 {
								t.Errorf("%d are inside", n)
							}
							time.Sleep(100 * time.Microsecond) // longer than a question takes
							inside.Add(-1)
							if err := handle.Unlock(ctx); err != nil {
								t.Error(err)
								return
							}
							letGo()
							pairs.Add(1)
						}
					})
				}
			}
			wg.Wait()
			require.EqualValues(t, 2*callers*rounds, pairs.Load())
		})
	}
}

// take asks again after a while. rueidislock loses a wake-up now and then, and this is a test of exclusion. The context
// of a wait that succeeded is left alone until letGo, for there are libraries whose hold ends with it.
func take(ctx context.Context, handle Handle) (letGo func(), err error) {
	for {
		attempt, cancel := context.WithCancel(ctx)
		alarm := time.AfterFunc(3*time.Second, cancel)
		err := handle.Lock(attempt)
		switch {
		case err == nil && alarm.Stop():
			return cancel, nil
		case err == nil: // cancelled at the last moment: whether it is held is not known
			_ = handle.Unlock(ctx)
		case ctx.Err() != nil || attempt.Err() == nil:
			cancel()
			return nil, err
		}
		cancel()
	}
}

func TestReferencesThatCannotWaitSayThatAKeyIsTaken(t *testing.T) {
	srv := redistest.Process(t)
	for _, l := range All {
		if l.Contends {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			client := open(t, l, config(srv))
			one, err := client.Handle("key of " + l.Name)
			require.NoError(t, err)
			other, err := client.Handle("key of " + l.Name)
			require.NoError(t, err)
			require.NoError(t, one.Lock(t.Context()))
			require.ErrorIs(t, other.Lock(t.Context()), errTaken)
			require.NoError(t, one.Unlock(t.Context()))
			require.NoError(t, other.Lock(t.Context()))
			require.NoError(t, other.Unlock(t.Context()))
			require.ErrorIs(t, other.Unlock(t.Context()), errGone)
		})
	}
}

// What is said of renewal decides what the idle holds are counted for.
func TestHoldsAreKeptAliveByThoseThatSaySo(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	config := config(srv)
	config.Lease = 3 * time.Second
	var holds sync.WaitGroup
	for _, l := range All {
		if !l.Contends {
			continue
		}
		client := open(t, l, config)
		handle, err := client.Handle("key of " + l.Name)
		require.NoError(t, err)
		require.NoError(t, handle.Lock(t.Context()))
		holds.Go(func() {
			start := time.Now()
			for time.Since(start) < 2*config.Lease && keys(t, rdb, l.Name) > 0 {
				time.Sleep(50 * time.Millisecond)
			}
			if alive := keys(t, rdb, l.Name) > 0; alive != l.Renews {
				t.Errorf("%s: alive after two leases: %v, says that it renews: %v", l.Name, alive, l.Renews)
			}
			if l.Renews {
				if err := handle.Unlock(t.Context()); err != nil {
					t.Errorf("%s: %v", l.Name, err)
				}
			}
		})
	}
	holds.Wait()
}

// keys counts what a library has stored for its key, whose name it may have given a prefix.
func keys(t *testing.T, rdb *redis.Client, name string) int {
	found, err := rdb.Keys(t.Context(), "*key of "+name).Result()
	if err != nil {
		t.Error(err)
	}
	return len(found)
}
