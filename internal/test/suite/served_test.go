package suite_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// With 200 processes that wait for one name, an operation that is served costs the server eight scripts at most, for those
// primitives of which a release wakes one process. A spinlock
// wakes none: its waiters poll, and what that costs depends on how long they wait.
func TestHowManyScriptsAServedOperationCostsBeside200WaitingProcesses(t *testing.T) {
	served(t, 200, func(string) float64 { return 8 })
}

// Ten processes with one caller each are how fleets contend. A process that has just handed the lock on does not ask for it in vain
// before it takes its place in the process queue again. So where the lock itself is handed on a turn costs two scripts: one to queue, and the
// release that hands it on. A multilock takes its other members by one more. Where a process is told only, it asks once more.
func TestATurnAmongTenProcessesCostsTwoScripts(t *testing.T) {
	served(t, 10, func(what string) float64 {
		switch what {
		case "rlock", "fencedlock", "redlock":
			return 2.5
		case "multilock", "rlock WithLease", "rwlock, write", "group":
			return 3.5
		}
		return 5
	})
}

func served(t *testing.T, processes int, bound func(what string) float64) {
	const turns = 1000
	seldom := redlatch.WithPoll(30 * time.Second) // on a slow machine polls would be counted
	locker := func(of func(redlatch.Client) redlatch.Locker, opts ...redlatch.Option) func(redlatch.Client) func(context.Context) (func(context.Context) error, error) {
		return func(client redlatch.Client) func(context.Context) (func(context.Context) error, error) {
			lock := of(client)
			return func(ctx context.Context) (func(context.Context) error, error) {
				hold, err := lock.Lock(ctx, opts...)
				if err != nil {
					return nil, err
				}
				return hold.Unlock, nil
			}
		}
	}
	mixed := func(share int64) func(redlatch.Client) func(context.Context) (func(context.Context) error, error) { // one in share writes
		var turn atomic.Int64
		return func(client redlatch.Client) func(context.Context) (func(context.Context) error, error) {
			lock := rwlock.New(client, "served", seldom)
			return func(ctx context.Context) (func(context.Context) error, error) {
				take := lock.RLock
				if share > 1 && turn.Add(1)%share == 0 {
					take = lock.Lock
				}
				hold, err := take(ctx)
				if err != nil {
					return nil, err
				}
				return hold.Unlock, nil
			}
		}
	}
	second, third := redistest.Process(t), redistest.Process(t)
	plain := func(c redlatch.Client) redlatch.Locker { return rlock.New(c, "served", seldom) }
	for what, of := range map[string]func(redlatch.Client) func(context.Context) (func(context.Context) error, error){
		"rlock":              locker(plain),
		"rlock WithLease":    locker(plain, redlatch.WithLease(time.Minute)),
		"fencedlock":         locker(func(c redlatch.Client) redlatch.Locker { return fencedlock.New(c, "served", seldom) }),
		"fairlock":           locker(func(c redlatch.Client) redlatch.Locker { return fairlock.New(c, "served", seldom) }),
		"rwlock, write":      locker(func(c redlatch.Client) redlatch.Locker { return rwlock.New(c, "served", seldom).Writer() }),
		"rwlock, read":       mixed(1),
		"rwlock, 90 % reads": mixed(10),
		"multilock": locker(func(c redlatch.Client) redlatch.Locker {
			return multilock.New([]redlatch.Locker{rlock.New(c, "{served}:1", seldom), rlock.New(c, "{served}:2", seldom)})
		}),
		"group": locker(func(c redlatch.Client) redlatch.Locker {
			return multilock.NewGroup(c, "served", []string{"a", "b"}, seldom)
		}),
		"redlock": locker(func(c redlatch.Client) redlatch.Locker { // on its first server, which is asked most
			return redlock.New([]redlatch.Client{c, second.Client(t), third.Client(t)}, "served", seldom)
		}),
		"semaphore": func(c redlatch.Client) func(context.Context) (func(context.Context) error, error) {
			s := semaphore.New(c, "served", seldom)
			_, err := s.TrySetPermits(t.Context(), 4)
			require.NoError(t, err)
			return func(ctx context.Context) (func(context.Context) error, error) {
				return func(ctx context.Context) error { return s.Release(ctx, 1) }, s.Acquire(ctx, 1)
			}
		},
		"permitsemaphore": func(c redlatch.Client) func(context.Context) (func(context.Context) error, error) {
			s := permitsemaphore.New(c, "served", seldom)
			_, err := s.TrySetPermits(t.Context(), 4)
			require.NoError(t, err)
			return func(ctx context.Context) (func(context.Context) error, error) {
				p, err := s.Acquire(ctx, 1)
				if err != nil {
					return nil, err
				}
				return p.Release, nil
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			srv := redistest.Process(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := make(chan struct{})
			var all sync.WaitGroup
			for range processes {
				take := of(srv.Client(t))
				all.Go(func() {
					for {
						release, err := take(ctx)
						if err != nil {
							return
						}
						time.Sleep(time.Millisecond)
						select {
						case served <- struct{}{}:
						case <-ctx.Done():
						}
						_ = release(context.WithoutCancel(ctx))
					}
				})
			}
			for range processes {
				<-served // all have come by then, more or less
			}
			before := srv.Scripts(t)
			for range turns {
				<-served
			}
			cost := float64(srv.Scripts(t)-before) / turns
			cancel()
			all.Wait()
			t.Logf("%s: %.1f scripts an operation", what, cost)
			require.Less(t, cost, bound(what))
		})
	}
}
