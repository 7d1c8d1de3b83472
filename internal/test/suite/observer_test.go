package suite_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// A witness is an observer that keeps the events, each with what its context says.
type witness struct {
	mu     sync.Mutex
	events []redlatch.Event
	from   []any // what each context has under fromKey
	on     func(e redlatch.Event)
}

type fromKey struct{}

func from(ctx context.Context, what string) context.Context {
	return context.WithValue(ctx, fromKey{}, what)
}

func (w *witness) WaitStart(ctx context.Context, e redlatch.Event) context.Context {
	w.Observe(ctx, e)
	return from(ctx, "a span")
}

func (w *witness) WaitEnd(ctx context.Context, e redlatch.Event) { w.Observe(ctx, e) }

func (w *witness) Observe(ctx context.Context, e redlatch.Event) {
	w.mu.Lock()
	w.events, w.from = append(w.events, e), append(w.from, ctx.Value(fromKey{}))
	w.mu.Unlock()
	if w.on != nil {
		w.on(e)
	}
}

// kinds are the kinds so far without renewals.
func (w *witness) kinds() (kinds []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind != redlatch.EventRenewed {
			kinds = append(kinds, string(e.Kind))
		}
	}
	return kinds
}

// spans is a hook of a client that keeps what the contexts of its commands say.
type spans struct{ from []any }

func (*spans) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *spans) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") {
			s.from = append(s.from, ctx.Value(fromKey{}))
		}
		return next(ctx, cmd)
	}
}

func (*spans) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// What WaitStart returns is the context of the call's commands and of WaitEnd, so that a span can be their parent.
func TestTheContextOfAWaitIsTheObservers(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		var w witness
		hook := &spans{}
		lock := fencedlock.New(client, "x", briefly.Linger(0), redlatch.WithObserver(&w))
		require.NoError(t, lock.Do(t.Context(), func(context.Context) error { return nil }))
		client.AddHook(hook)
		w = witness{}
		hold, err := lock.Lock(from(t.Context(), "the caller"))
		require.NoError(t, err)
		require.Equal(t, []any{"a span"}, hook.from)
		require.NoError(t, hold.Unlock(from(t.Context(), "the unlocker")))
		require.Equal(t, []string{"waiting", "acquired", "released"}, w.kinds())
		require.Equal(t, []any{"the caller", "a span", "the unlocker"}, w.from)
		require.Equal(t, redlatch.OutcomeAcquired, w.events[1].Outcome)
		require.Equal(t, redlatch.PathFresh, w.events[1].Path)
		require.Equal(t, hold.Token(), w.events[1].Token)
		require.Equal(t, hold.Token(), w.events[2].Token)
		require.NotZero(t, hold.Token())
	})
}

// A default observer hears of what was made before it, and not of what has one of its own, even if that is none. A hold that it
// was told of stays its own.
func TestTheDefaultObserverIsToldOfWhatHasNoOther(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		before := rlock.New(client, "before", briefly.Linger(0))
		var usual, own, later witness
		redlatch.SetDefaultObserver(&usual)
		t.Cleanup(func() { redlatch.SetDefaultObserver(nil) })
		nothing := func(context.Context) error { return nil }
		require.NoError(t, rlock.New(client, "own", briefly.Linger(0), redlatch.WithObserver(&own)).Do(t.Context(), nothing))
		require.NoError(t, rlock.New(client, "none", briefly.Linger(0), redlatch.WithObserver(nil)).Do(t.Context(), nothing))
		hold, err := before.Lock(t.Context())
		require.NoError(t, err)
		redlatch.SetDefaultObserver(&later)
		require.NoError(t, hold.Unlock(t.Context()))
		redlatch.SetDefaultObserver(nil)
		require.NoError(t, before.Do(t.Context(), nothing))
		require.Equal(t, []string{"waiting", "acquired", "released"}, own.kinds())
		require.Equal(t, []string{"waiting", "acquired", "released"}, usual.kinds())
		require.Empty(t, later.kinds())
		require.Equal(t, "before", usual.events[0].Name)
	})
}

// harmful is a hook of a client that ends the goroutine of a script.
type harmful struct{ end func() }

func (*harmful) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *harmful) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") && h.end != nil {
			end := h.end
			h.end = nil
			end()
		}
		return next(ctx, cmd)
	}
}

func (*harmful) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestAWaitThatDoesNotReturnHasEndedToo(t *testing.T) {
	for how, end := range map[string]func(){"panic": func() { panic("a hook") }, "Goexit": runtime.Goexit} {
		for what, wait := range map[string]func(ctx context.Context, c *redis.Client, opts ...redlatch.Option){
			"lock": func(ctx context.Context, c *redis.Client, o ...redlatch.Option) {
				_, _ = rlock.New(c, "x", o...).Lock(ctx)
			},
			"semaphore": func(ctx context.Context, c *redis.Client, o ...redlatch.Option) {
				_ = semaphore.New(c, "x", o...).Acquire(ctx, 1)
			},
			"permit_semaphore": func(ctx context.Context, c *redis.Client, o ...redlatch.Option) {
				_, _ = permitsemaphore.New(c, "x", o...).Acquire(ctx, 1)
			},
			"multi_lock": func(ctx context.Context, c *redis.Client, o ...redlatch.Option) {
				lock := multilock.New([]redlatch.Locker{rlock.New(c, "x", o[0]), rlock.New(c, "y", o[0])}, o[1:]...)
				_, _ = lock.Lock(ctx)
			},
			"latch": func(ctx context.Context, c *redis.Client, o ...redlatch.Option) {
				_ = countdownlatch.New(c, "x", o...).Await(ctx)
			},
		} {
			t.Run(what+"/"+how, func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					_, client := redistest.InMemory(t)
					client.AddHook(&harmful{end})
					var w witness
					ended := make(chan any, 1)
					go func() {
						defer func() { ended <- recover() }()
						wait(t.Context(), client, briefly.Linger(0), redlatch.WithObserver(&w))
					}()
					<-ended
					// Meanwhile what the call may have acquired is given back, of which the observer is told too.
					require.Equal(t, []string{"waiting", "refused"}, slices.DeleteFunc(w.kinds(), func(kind string) bool { return kind == "settled" }))
					w.mu.Lock()
					defer w.mu.Unlock()
					at := slices.IndexFunc(w.events, func(e redlatch.Event) bool { return e.Kind == redlatch.EventRefused })
					require.Equal(t, redlatch.OutcomeError, w.events[at].Outcome)
					require.Error(t, w.events[at].Err)
					require.Equal(t, "a span", w.from[at])
				})
			})
		}
	}
}

// What an observer panics with in Observe does not keep a lock from being released.
func TestAnObserverThatPanicsDoesNotDisturbARelease(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, client := redistest.InMemory(t)
		w := witness{on: func(e redlatch.Event) {
			if e.Kind != redlatch.EventWaiting && e.Kind != redlatch.EventAcquired {
				panic("an observer")
			}
		}}
		lock := rlock.New(client, "x", briefly.Linger(0), redlatch.WithWatchdogTimeout(time.Second), redlatch.WithObserver(&w),
			redlatch.WithLogger(slog.New(slog.DiscardHandler)))
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
		hold, err = lock.Lock(t.Context()) // at once: it was released
		require.NoError(t, err)
		ctx := hold.Context(t.Context())
		server.FlushAll()
		<-ctx.Done() // and the panic is on a goroutine that the program cannot reach
		synctest.Wait()
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)
		require.Equal(t, []string{"waiting", "acquired", "released", "waiting", "acquired", "lost"}, w.kinds())
		require.Equal(t, redlatch.ReasonTaken, w.events[len(w.events)-1].Reason)
	})
}

// An observer may take what it is told of.
func TestAnObserverMayCallTheLock(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		var lock *rlock.Lock
		inside := false
		w := witness{}
		w.on = func(e redlatch.Event) {
			if inside {
				return
			}
			inside = true
			defer func() { inside = false }()
			hold, err := lock.Lock(t.Context(), redlatch.WithWait(time.Second))
			require.Equal(t, e.Kind == redlatch.EventAcquired, err != nil)
			if hold != nil {
				require.NoError(t, hold.Unlock(t.Context()))
			}
		}
		lock = rlock.New(client, "x", briefly.Linger(0), redlatch.WithObserver(&w))
		require.NoError(t, lock.Do(t.Context(), func(context.Context) error { return nil }))
		require.Len(t, w.kinds(), 11) // three of the call, and three, two and three inside
	})
}

func TestARenewalIsToldWithItsOutcome(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, client := redistest.InMemory(t)
		var w witness
		lock := rlock.New(client, "x", briefly.Linger(0), redlatch.WithWatchdogTimeout(3*time.Second), redlatch.WithObserver(&w))
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		renewals := func() (of []redlatch.Outcome) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, e := range w.events {
				if e.Kind == redlatch.EventRenewed {
					require.Equal(t, e.Outcome == redlatch.OutcomeRenewed, e.Err == nil)
					require.Equal(t, hold.Owner(), e.Owner)
					of = append(of, e.Outcome)
				}
			}
			return of
		}
		time.Sleep(2500 * time.Millisecond)
		require.Equal(t, []redlatch.Outcome{redlatch.OutcomeRenewed, redlatch.OutcomeRenewed}, renewals())
		server.SetError("LOADING Redis is loading the dataset in memory")
		time.Sleep(time.Second)
		server.SetError("")
		require.Greater(t, len(renewals()), 2)
		require.NotContains(t, renewals()[2:], redlatch.OutcomeRenewed)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// Of a plain semaphore the permits can be counted, and of a latch the count-downs.
func TestWhatNobodyOwnsIsTold(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		var w witness
		s := semaphore.New(client, "s", briefly.Linger(0), redlatch.WithObserver(&w))
		_, err := s.TrySetPermits(t.Context(), 5)
		require.NoError(t, err)
		require.NoError(t, s.Acquire(t.Context(), 3))
		require.NoError(t, s.Release(from(t.Context(), "the releaser"), 2))
		there, err := s.ReleaseIfExists(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, []string{"waiting", "acquired", "released", "released"}, w.kinds())
		held := int64(0)
		for _, e := range w.events[1:] {
			held += map[redlatch.EventKind]int64{redlatch.EventAcquired: e.Permits, redlatch.EventReleased: -e.Permits}[e.Kind]
		}
		require.Zero(t, held)
		require.Equal(t, "the releaser", w.from[2])

		w = witness{}
		latch := countdownlatch.New(client, "l", briefly.Linger(0), redlatch.WithObserver(&w))
		_, err = latch.TrySetCount(t.Context(), 1)
		require.NoError(t, err)
		require.ErrorIs(t, latch.Await(t.Context(), redlatch.WithWait(time.Second)), context.DeadlineExceeded)
		require.NoError(t, latch.CountDown(from(t.Context(), "the counter")))
		require.NoError(t, latch.Await(t.Context()))
		require.Equal(t, []string{"waiting", "refused", "counted", "waiting", "opened"}, w.kinds())
		require.Equal(t, redlatch.OutcomeTimeout, w.events[1].Outcome)
		require.Equal(t, "the counter", w.from[2])
	})
}

func TestTheOutcomeOfAWaitIsOneOfAFew(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		server, client := redistest.InMemory(t)
		var w witness
		lock := rlock.New(client, "x", briefly.Linger(0), redlatch.WithObserver(&w), redlatch.WithOutage(time.Second))
		last := func(err error) redlatch.Outcome {
			require.Error(t, err)
			e := w.events[len(w.events)-1]
			require.True(t, errors.Is(err, e.Err) || err.Error() == e.Err.Error())
			return e.Outcome
		}
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		inner, err := lock.Lock(hold.Context(t.Context()))
		require.NoError(t, err)
		require.Equal(t, redlatch.OutcomeReentered, w.events[len(w.events)-1].Outcome)
		require.NoError(t, inner.Unlock(t.Context()))
		_, err = lock.TryLock(t.Context())
		require.Equal(t, redlatch.OutcomeBusy, last(err))
		_, err = lock.Lock(t.Context(), redlatch.WithWait(time.Second))
		require.Equal(t, redlatch.OutcomeTimeout, last(err))
		over, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = lock.Lock(over)
		require.Equal(t, redlatch.OutcomeCanceled, last(err))
		got := make(chan *redlatch.Hold)
		go func() {
			next, err := lock.Lock(t.Context())
			require.NoError(t, err)
			got <- next
		}()
		synctest.Wait()
		require.NoError(t, hold.Unlock(t.Context()))
		next := <-got
		ends := w.events[len(w.events)-2:]
		require.ElementsMatch(t, []redlatch.Path{redlatch.PathConfirmed, ""}, []redlatch.Path{ends[0].Path, ends[1].Path})
		require.NoError(t, next.Unlock(t.Context()))
		server.SetError("LOADING Redis is loading the dataset in memory")
		_, err = lock.Lock(t.Context())
		require.Equal(t, redlatch.OutcomeUnavailable, last(err))
		server.SetError("")
	})
}
