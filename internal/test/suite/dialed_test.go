package suite_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// The client library dials for half a second before it says that it cannot connect. A call's context may end
// before that. The call's error has the network's error all the same, also that of a client's first call.
func TestACallThatEndsWhileTheClientCannotConnectSaysWhy(t *testing.T) {
	unused := redis.NewClient(&redis.Options{Addr: "nowhere"})
	all := cells(unused)
	require.NoError(t, unused.Close())
	for _, primitive := range all {
		for _, call := range callForms {
			if primitive.try == nil && call.name == "`Try…`" {
				continue
			}
			t.Run(primitive.name+"/"+call.name, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					rdb := redis.NewClient(&redis.Options{Addr: "nowhere", Dialer: func(context.Context, string, string) (net.Conn, error) {
						time.Sleep(time.Millisecond)
						return nil, dialed(syscall.ECONNREFUSED)
					}})
					defer func() {
						time.Sleep(5 * time.Minute) // what is in doubt is settled
						require.NoError(t, rdb.Close())
						time.Sleep(time.Minute)
					}()
					of := cells(rdb)
					c := of[slices.IndexFunc(of, func(c cell) bool { return c.name == primitive.name })]
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					err := call.make(ctx, c)
					require.ErrorIs(t, err, redlatch.ErrUnavailable)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.ErrorIs(t, err, syscall.ECONNREFUSED)
				})
			})
		}
	}
}

// So does what gives back, changes or reads, whose time is over before the client has given up.
func TestAReleaseThatEndsWhileTheClientCannotConnectSaysWhy(t *testing.T) {
	type calls = map[string]func(ctx context.Context) error
	brief := redlatch.WithReleaseTimeout(100 * time.Millisecond)
	lock := func(of func(rdb *redis.Client) redlatch.Locker) func(t *testing.T, rdb *redis.Client) calls {
		return func(t *testing.T, rdb *redis.Client) calls {
			hold, err := of(rdb).Lock(t.Context())
			require.NoError(t, err)
			return calls{"Extend": func(ctx context.Context) error { return hold.Extend(ctx, time.Hour) }, "Unlock": hold.Unlock}
		}
	}
	for what, of := range map[string]func(t *testing.T, rdb *redis.Client) calls{
		"rlock":    lock(func(rdb *redis.Client) redlatch.Locker { return rlock.New(rdb, "a", brief) }),
		"fairlock": lock(func(rdb *redis.Client) redlatch.Locker { return fairlock.New(rdb, "a", brief) }),
		"rwlock":   lock(func(rdb *redis.Client) redlatch.Locker { return rwlock.New(rdb, "a", brief).Reader() }),
		"group":    lock(func(rdb *redis.Client) redlatch.Locker { return multilock.NewGroup(rdb, "a", []string{"x"}, brief) }),
		"multilock": lock(func(rdb *redis.Client) redlatch.Locker {
			return multilock.New([]redlatch.Locker{rlock.New(rdb, "a", brief)})
		}),
		"redlock": lock(func(rdb *redis.Client) redlatch.Locker { return redlock.New([]redlatch.Client{rdb}, "a", brief) }),
		"queries": func(t *testing.T, rdb *redis.Client) calls {
			l, s := rlock.New(rdb, "a"), semaphore.New(rdb, "s")
			return calls{
				"IsLocked":         func(ctx context.Context) error { _, err := l.IsLocked(ctx); return err },
				"AvailablePermits": func(ctx context.Context) error { _, err := s.AvailablePermits(ctx); return err },
			}
		},
		"semaphore": func(t *testing.T, rdb *redis.Client) calls {
			s := semaphore.New(rdb, "a", semaphore.WithPermits(2), brief)
			require.NoError(t, s.Acquire(t.Context(), 1))
			return calls{
				"Release":    func(ctx context.Context) error { return s.Release(ctx, 1) },
				"AddPermits": func(ctx context.Context) error { _, err := s.AddPermits(ctx, 1); return err },
			}
		},
		"permitsemaphore": func(t *testing.T, rdb *redis.Client) calls {
			permit, err := permitsemaphore.New(rdb, "a", permitsemaphore.WithPermits(2), brief).Acquire(t.Context(), 1)
			require.NoError(t, err)
			return calls{"Release": permit.Release}
		},
		"countdownlatch": func(t *testing.T, rdb *redis.Client) calls {
			l := countdownlatch.New(rdb, "a", brief)
			_, err := l.TrySetCount(t.Context(), 2)
			require.NoError(t, err)
			return calls{"CountDown": l.CountDown}
		},
	} {
		t.Run(what, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				m, _ := redistest.InMemory(t)
				options := redistest.InMemoryOptions(m)
				connect, refuses, conns := options.Dialer, false, []net.Conn{}
				var mu sync.Mutex
				options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					mu.Lock()
					defer mu.Unlock()
					if refuses {
						return nil, dialed(syscall.ECONNREFUSED)
					}
					conn, err := connect(ctx, network, addr)
					conns = append(conns, conn)
					return conn, err
				}
				rdb := redis.NewClient(options)
				defer func() {
					time.Sleep(5 * time.Minute) // what is in doubt is settled
					require.NoError(t, rdb.Close())
					time.Sleep(time.Minute)
				}()
				all := of(t, rdb)
				for _, name := range slices.Sorted(maps.Keys(all)) { // Extend before Unlock
					call := all[name]
					mu.Lock()
					refuses = true
					for _, conn := range conns {
						_ = conn.Close()
					}
					mu.Unlock()
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					err := call(ctx)
					cancel()
					require.ErrorIs(t, err, redlatch.ErrUnavailable, name)
					require.ErrorIs(t, err, syscall.ECONNREFUSED, name)
					require.Contains(t, err.Error(), "connection refused", name)
					require.NotRegexp(t, "redlatch: .*redlatch: ", err.Error(), name)
				}
			})
		})
	}
}
