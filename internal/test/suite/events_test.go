package suite_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// happened is what one observer was told that several primitives share, by what each event was about.
type happened struct {
	mu     sync.Mutex
	events map[redlatch.Kind][]string
}

func (h *happened) option() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if e.Kind == redlatch.EventWaiting || e.Kind == redlatch.EventRenewed {
			return
		}
		if h.events == nil {
			h.events = make(map[redlatch.Kind][]string)
		}
		h.events[e.Primitive] = append(h.events[e.Primitive], string(e.Kind))
	}))
}

// One observer makes metrics of all that a program uses, also of the two sides of a read-write lock, which are made by
// one New. Each is refused, acquired and lost; that it is unlocked then is no news.
func TestAnEventSaysWhatKindOfPrimitiveItIsOf(t *testing.T) {
	everything := []string{"refused", "acquired", "lost"}
	for want, make := range map[redlatch.Kind]func(client *redis.Client, opts ...redlatch.Option) redlatch.Locker{
		"lock":        func(c *redis.Client, o ...redlatch.Option) redlatch.Locker { return rlock.New(c, "x", o...) },
		"fair_lock":   func(c *redis.Client, o ...redlatch.Option) redlatch.Locker { return fairlock.New(c, "x", o...) },
		"fenced_lock": func(c *redis.Client, o ...redlatch.Option) redlatch.Locker { return fencedlock.New(c, "x", o...) },
		"spin_lock":   func(c *redis.Client, o ...redlatch.Option) redlatch.Locker { return spinlock.New(c, "x", o...) },
		"read_lock":   func(c *redis.Client, o ...redlatch.Option) redlatch.Locker { return rwlock.New(c, "x", o...).Reader() },
		"write_lock":  func(c *redis.Client, o ...redlatch.Option) redlatch.Locker { return rwlock.New(c, "x", o...).Writer() },
		"group_lock": func(c *redis.Client, o ...redlatch.Option) redlatch.Locker {
			return multilock.NewGroup(c, "x", []string{"1"}, o...)
		},
		"multi_lock": func(c *redis.Client, o ...redlatch.Option) redlatch.Locker {
			return multilock.New([]redlatch.Locker{rlock.New(c, "x", briefly.Linger(0))}, o...)
		},
		"redlock": func(c *redis.Client, o ...redlatch.Option) redlatch.Locker {
			return redlock.New([]redlatch.Client{c}, "x", o...)
		},
	} {
		t.Run(string(want), func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				server, client := redistest.InMemory(t)
				var seen happened
				linger := []redlatch.Option{briefly.Linger(0)}
				if want == "multi_lock" { // whose members have it
					linger = nil
				}
				other := make(client, linger...)
				if want == "read_lock" { // which excludes writers only
					other = rwlock.New(client, "x", linger...)
				}
				lock := make(client, append(linger, redlatch.WithWatchdogTimeout(time.Second), seen.option())...)

				theirs, err := other.Lock(t.Context())
				require.NoError(t, err)
				_, err = lock.TryLock(t.Context())
				require.ErrorContains(t, err, want.Noun())
				require.NoError(t, theirs.Unlock(t.Context()))
				hold, err := lock.Lock(t.Context())
				require.NoError(t, err)
				ctx := hold.Context(t.Context())
				server.FlushAll()
				<-ctx.Done()
				synctest.Wait() // the event comes after the end of the contexts
				require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)
				require.Equal(t, map[redlatch.Kind][]string{want: everything}, seen.events)
			})
		})
	}
}

func TestAnEventOfASemaphoreSaysSo(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		ctx := context.Background()
		var seen happened
		plain := semaphore.New(client, "x", briefly.Linger(0), seen.option())
		require.ErrorIs(t, plain.Acquire(ctx, 1, redlatch.WithWait(time.Second)), redlatch.ErrNotAcquired)
		leased := permitsemaphore.New(client, "y", briefly.Linger(0), seen.option())
		require.NoError(t, leased.SetPermits(ctx, 1))
		permit, err := leased.Acquire(ctx, 1)
		require.NoError(t, err)
		_, err = leased.TryAcquire(ctx, 1)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NoError(t, permit.Release(ctx))
		require.Equal(t, map[redlatch.Kind][]string{
			"semaphore":        {"refused"},
			"permit_semaphore": {"acquired", "refused", "released"},
		}, seen.events)
	})
}

// hardOfHearing is a hook of a client that hears none of the first replies to scripts.
type hardOfHearing struct{ replies int }

func (*hardOfHearing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *hardOfHearing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if strings.HasPrefix(cmd.Name(), "eval") && !redis.HasErrorPrefix(err, "NOSCRIPT") && h.replies > 0 {
			h.replies--
			err = io.EOF
			cmd.SetErr(err)
		}
		return err
	}
}

func (*hardOfHearing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Of latches and guards nothing else is told.
func TestAnEventOfWhatWasSettledSaysWhatItIsOf(t *testing.T) {
	for want, change := range map[redlatch.Kind]func(ctx context.Context, client *redis.Client, opts ...redlatch.Option) error{
		"lock": func(ctx context.Context, client *redis.Client, opts ...redlatch.Option) error {
			return rlock.New(client, "x", opts...).Do(ctx, func(context.Context) error { return nil })
		},
		"semaphore": func(ctx context.Context, client *redis.Client, opts ...redlatch.Option) error {
			return semaphore.New(client, "x", opts...).Release(ctx, 1)
		},
		"permit_semaphore": func(ctx context.Context, client *redis.Client, opts ...redlatch.Option) error {
			return permitsemaphore.New(client, "x", opts...).SetPermits(ctx, 1)
		},
		"latch": func(ctx context.Context, client *redis.Client, opts ...redlatch.Option) error {
			_, err := countdownlatch.New(client, "x", opts...).TrySetCount(ctx, 1)
			return err
		},
		"guard": func(ctx context.Context, client *redis.Client, opts ...redlatch.Option) error {
			return fencedlock.NewGuard(client, "x", opts...).For(passed(1)).Set(ctx, "y", "z")
		},
	} {
		t.Run(string(want), func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				_, client := redistest.InMemory(t)
				client.AddHook(&hardOfHearing{1})
				settled := make(chan redlatch.Event, 1)
				opts := []redlatch.Option{briefly.Linger(0), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
					if e.Kind == redlatch.EventSettled {
						settled <- e
					}
				}))}
				if want == "lock" {
					require.NoError(t, change(context.Background(), client, opts...))
				} else { // a counter that is sent its command again has nothing to settle
					opts = append(opts, redlatch.WithOutage(time.Millisecond), redlatch.WithReleaseTimeout(time.Millisecond))
					require.ErrorIs(t, change(context.Background(), client, opts...), redlatch.ErrUncertain)
				}
				e := <-settled
				require.Equal(t, []any{want, "x"}, []any{e.Primitive, e.Name})
			})
		})
	}
}

// A passed is a token that came from elsewhere, without its owner.
type passed int64

func (passed) Name() string   { return "elsewhere" }
func (p passed) Token() int64 { return int64(p) }
func (passed) Owner() string  { return "" }
