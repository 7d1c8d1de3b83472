package suite_test

import (
	"context"
	"testing"
	"testing/synctest"
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
	"github.com/redlatch/redlatch/spinlock"
)

// A section acquires something and returns what gives it back.
type section func(ctx context.Context) (release func(context.Context) error, err error)

func locked(lock redlatch.Locker) section {
	return func(ctx context.Context) (func(context.Context) error, error) {
		hold, err := lock.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return hold.Unlock, nil
	}
}

// The event says whether Redis has confirmed what a goroutine got from another one of its process. A program that turns the
// hand-off without a command off finds no "local" any more.
func TestThePathTellsAHandOffThatRedisHasConfirmedFromOneThatItHasNot(t *testing.T) {
	const local, confirmed, fresh = redlatch.PathLocal, redlatch.PathConfirmed, redlatch.PathFresh
	old := time.Second // a section after which Redis has to be asked
	for name, test := range map[string]struct {
		make                func(c redlatch.Client, opts ...redlatch.Option) section
		young, old, without redlatch.Path // at once, after a long section, and with WithoutLocalHandOff
	}{
		"rlock": {func(c redlatch.Client, opts ...redlatch.Option) section { return locked(rlock.New(c, "x", opts...)) },
			local, confirmed, confirmed},
		"fencedlock": {func(c redlatch.Client, opts ...redlatch.Option) section {
			return locked(fencedlock.New(c, "x", opts...))
		},
			local, confirmed, confirmed},
		"fairlock": {func(c redlatch.Client, opts ...redlatch.Option) section { return locked(fairlock.New(c, "x", opts...)) },
			local, redlatch.PathRemote, redlatch.PathRemote}, // the fair queue tells the next of its turn
		"spinlock": {func(c redlatch.Client, opts ...redlatch.Option) section { return locked(spinlock.New(c, "x", opts...)) },
			local, fresh, confirmed},
		"rwlock, write": {func(c redlatch.Client, opts ...redlatch.Option) section {
			return locked(rwlock.New(c, "x", opts...))
		}, local, confirmed, confirmed},
		"rwlock, read": {func(c redlatch.Client, opts ...redlatch.Option) section { // the second one does not wait
			return locked(rwlock.New(c, "x", opts...).Reader())
		}, local, fresh, fresh},
		"multilock": {func(c redlatch.Client, opts ...redlatch.Option) section {
			return locked(multilock.New([]redlatch.Locker{rlock.New(c, "x"), rlock.New(c, "y")}, opts...))
		}, local, fresh, fresh},
		"redlock": {func(c redlatch.Client, opts ...redlatch.Option) section {
			return locked(redlock.New([]redlatch.Client{c}, "x", opts...))
		}, local, fresh, fresh},
		"semaphore": {func(c redlatch.Client, opts ...redlatch.Option) section {
			s := semaphore.New(c, "x", opts...)
			return func(ctx context.Context) (func(context.Context) error, error) {
				return func(ctx context.Context) error { return s.Release(ctx, 1) }, s.Acquire(ctx, 1)
			}
		}, local, confirmed, fresh},
		"permitsemaphore": {func(c redlatch.Client, opts ...redlatch.Option) section {
			s := permitsemaphore.New(c, "x", opts...)
			return func(ctx context.Context) (func(context.Context) error, error) {
				p, err := s.Acquire(ctx, 1)
				if err != nil {
					return nil, err
				}
				return p.Release, nil
			}
		}, confirmed, confirmed, fresh}, // an observer is told the ids, and one that was told is never another's
	} {
		for kind, variant := range map[string]struct {
			opts []redlatch.Option
			held time.Duration
			want redlatch.Path
		}{
			"young":                  {nil, 0, test.young},
			"old":                    {nil, old, test.old},
			"without local hand-off": {[]redlatch.Option{redlatch.WithoutLocalHandOff()}, 0, test.without},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					_, client := redistest.InMemory(t)
					switch name {
					case "semaphore":
						_, err := semaphore.New(client, "x").TrySetPermits(t.Context(), 1)
						require.NoError(t, err)
					case "permitsemaphore":
						_, err := permitsemaphore.New(client, "x").TrySetPermits(t.Context(), 1)
						require.NoError(t, err)
					}
					defer time.Sleep(time.Minute) // what lingers ends
					var w witness
					enter := test.make(client, append(variant.opts, redlatch.WithObserver(&w))...)
					release, err := enter(t.Context())
					require.NoError(t, err)
					handOffs := 1
					if variant.held == 0 { // the first one asks Redis, for the process has heard nothing since it began to wait
						handOffs = 2
					}
					next := make(chan func(context.Context) error, handOffs)
					for range handOffs {
						go func() {
							release, err := enter(t.Context())
							if err != nil {
								t.Error(err)
							}
							next <- release
						}()
						synctest.Wait()
					}
					for range handOffs {
						time.Sleep(variant.held)
						require.NoError(t, release(t.Context()))
						release = <-next
					}
					require.NoError(t, release(t.Context()))
					acquired := w.of(redlatch.EventAcquired)
					require.Equal(t, fresh, acquired[0].Path)
					require.Equal(t, variant.want, acquired[handOffs].Path)
				})
			})
		}
	}
}
