package library

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// placeFor is a Config with enough servers for every primitive.
func placeFor(t testing.TB) Config {
	c := config(redistest.Process(t))
	c.Others = []string{redistest.Process(t).Addr, redistest.Process(t).Addr}
	return c
}

// A lock has one holder at a time, and a semaphore of two permits has two. Otherwise the benchmarks would compare something
// else than they say.
func TestEveryPrimitiveHasAsManyHoldersAtOnceAsItSays(t *testing.T) {
	config := placeFor(t)
	config.Permits = 2
	for _, p := range Primitives {
		if !p.Hot {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			at, most := int64(1), int64(1)
			switch p.Name {
			case "rwlock, all read", "rwlock, 90 % read":
				at, most = 2, 8
			case "semaphore of 4", "permitsemaphore of 4":
				at, most = 2, 2
			}
			var inside, seen atomic.Int64
			var wg sync.WaitGroup
			for range 2 {
				client := open(t, p.Library, config)
				for range 4 {
					handle, err := client.Handle("key of " + p.Name)
					require.NoError(t, err)
					wg.Go(func() {
						for range 10 {
							if err := handle.Lock(t.Context()); err != nil {
								t.Error(err)
								return
							}
							n := inside.Add(1)
							for was := seen.Load(); n > was && !seen.CompareAndSwap(was, n); was = seen.Load() {
							}
							time.Sleep(2 * time.Millisecond)
							inside.Add(-1)
							if err := handle.Unlock(t.Context()); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
			}
			wg.Wait()
			require.GreaterOrEqual(t, seen.Load(), at)
			require.LessOrEqual(t, seen.Load(), most)
		})
	}
}

func TestARedlockStandsOnThreeServersAndAMultilockOnThreeKeys(t *testing.T) {
	config := placeFor(t)
	for name, keys := range map[string][]string{"redlock of 3": {"k"}, "multilock of 3": Members("k")} {
		l, err := Named(name)
		require.NoError(t, err)
		handle, err := open(t, l, config).Handle("k")
		require.NoError(t, err)
		require.NoError(t, handle.Lock(t.Context()))
		servers := []string{config.Addr}
		if name == "redlock of 3" {
			servers = append(servers, config.Others...)
		}
		for _, addr := range servers {
			client := newGoRedis(Config{Addr: addr})
			require.Eventually(t, func() bool {
				n, err := client.Exists(t.Context(), keys...).Result()
				return err == nil && n == int64(len(keys))
			}, time.Minute, time.Millisecond, name)
			require.NoError(t, client.Close())
		}
		require.NoError(t, handle.Unlock(t.Context()))
	}
}

func TestALatchOpensForItsWaiter(t *testing.T) {
	config := config(redistest.Process(t))
	l, err := Named("countdownlatch")
	require.NoError(t, err)
	latch, err := open(t, l, config).Handle("latch")
	require.NoError(t, err)
	waiter, err := l.Waiter(config)
	require.NoError(t, err)
	defer waiter.Close()
	gate, err := waiter.Handle("latch")
	require.NoError(t, err)

	require.NoError(t, latch.Lock(t.Context()))
	over, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, gate.Lock(over), context.DeadlineExceeded)
	passed := make(chan error, 1)
	go func() { passed <- gate.Lock(t.Context()) }()
	require.NoError(t, latch.Unlock(t.Context()))
	require.NoError(t, <-passed)
	require.NoError(t, gate.Unlock(t.Context()))
}
