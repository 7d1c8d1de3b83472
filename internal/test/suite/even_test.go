package suite_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// Four processes of eight goroutines that want one object all the time have equal shares of it: their index of Jain is 0.9 at
// least, over a second of sections of a millisecond. Time is fake, so no load of the machine decides.
func TestFourProcessesShareEvenly(t *testing.T) {
	t.Parallel()
	const processes, goroutines, section, lasts = 4, 8, time.Millisecond, time.Second
	type taker func(ctx context.Context) (release func(context.Context) error, err error)
	locker := func(l redlatch.Locker) taker {
		return func(ctx context.Context) (func(context.Context) error, error) {
			hold, err := l.Lock(ctx)
			if err != nil {
				return nil, err
			}
			return hold.Unlock, nil
		}
	}
	for what, of := range map[string]func(t *testing.T, client redlatch.Client) taker{
		"rlock": func(_ *testing.T, c redlatch.Client) taker { return locker(rlock.New(c, "o", briefly.Linger(0))) },
		"group": func(_ *testing.T, c redlatch.Client) taker {
			return locker(multilock.NewGroup(c, "o", []string{"a", "b"}, briefly.Linger(0)))
		},
		"rwlock, write": func(_ *testing.T, c redlatch.Client) taker {
			return locker(rwlock.New(c, "o", briefly.Linger(0)).Writer())
		},
		"rwlock, 90 % reads": func(_ *testing.T, c redlatch.Client) taker {
			lock := rwlock.New(c, "o", briefly.Linger(0))
			var turn atomic.Int64
			return func(ctx context.Context) (func(context.Context) error, error) {
				side := lock.Reader()
				if turn.Add(1)%10 == 0 {
					side = lock.Writer()
				}
				release, err := locker(side)(ctx)
				return func(ctx context.Context) error {
					// In fake time readers leave at one moment. What Redis was asked at the moment of an Unlock does not vouch for it.
					if err := release(ctx); !errors.Is(err, redlatch.ErrUncertain) {
						return err
					}
					return nil
				}, err
			}
		},
		"semaphore": func(t *testing.T, c redlatch.Client) taker {
			s := semaphore.New(c, "o", briefly.Linger(0))
			_, err := s.TrySetPermits(t.Context(), 4)
			require.NoError(t, err)
			return func(ctx context.Context) (func(context.Context) error, error) {
				return func(ctx context.Context) error { return s.Release(ctx, 1) }, s.Acquire(ctx, 1)
			}
		},
		"permitsemaphore": func(t *testing.T, c redlatch.Client) taker {
			s := permitsemaphore.New(c, "o", briefly.Linger(0))
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
			redistest.Bubble(t, func(t *testing.T) {
				m, _ := redistest.InMemory(t)
				ctx, cancel := context.WithTimeout(t.Context(), lasts)
				defer cancel()
				turns := make([]int64, processes)
				var mu sync.Mutex
				var all sync.WaitGroup
				for p := range processes {
					client := redis.NewClient(redistest.InMemoryOptions(m))
					t.Cleanup(func() { _ = client.Close() })
					take := of(t, client)
					for range goroutines {
						all.Go(func() {
							for ctx.Err() == nil {
								release, err := take(ctx)
								if err != nil {
									if ctx.Err() == nil {
										t.Error(err)
									}
									return
								}
								time.Sleep(section)
								mu.Lock()
								turns[p]++
								mu.Unlock()
								if err := release(context.WithoutCancel(ctx)); err != nil {
									t.Error(err)
								}
							}
						})
					}
				}
				all.Wait()
				time.Sleep(time.Second) // what the ends of the waits leave behind is done by then
				t.Logf("%s: %v, %.3f", what, turns, redistest.Evenness(turns))
				require.GreaterOrEqual(t, redistest.Evenness(turns), 0.9)
			})
		})
	}
}
