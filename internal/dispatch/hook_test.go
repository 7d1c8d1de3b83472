package dispatch_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
)

// A fate is how a call ended: by an error, perhaps nil, or by a panic.
type fate struct {
	err    error
	raised *raise.Panic
}

// call sends a command, and recovers.
func call(ctx context.Context, d *dispatch.Dispatcher, n int64) (f fate) {
	defer func() { f.raised, _ = recover().(*raise.Panic) }()
	f.err = d.Do(ctx, "key", command(n), dispatch.ToMaster)
	return f
}

// hooked is a server behind a hook that does not return from one command.
func hooked(n int64, hook func()) *server {
	s := newServer()
	s.before = func(cmd redis.Cmder) {
		if number(cmd) == n {
			hook()
		}
	}
	return s
}

var hooks = map[string]struct {
	hook  func()
	value any
}{
	"panic":  {func() { panic("a hook") }, "a hook"},
	"Goexit": {runtime.Goexit, nil},
}

// The command of a caller that may leave runs on a goroutine of ours, from which nobody could recover.
func TestWhatAHookPanicsWithReachesItsCaller(t *testing.T) {
	for name, c := range hooks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, stay := range []time.Duration{0, time.Second} { // a worker that ends, and one that is parked
					d := dispatch.New(hooked(1, c.hook), nil, linger(stay))
					for range 3 {
						f := call(t.Context(), d, 1)
						require.NotNil(t, f.raised)
						require.Equal(t, c.value, f.raised.Value)
						require.Contains(t, f.raised.Error(), "hooked", "the stack says where")
						require.Equal(t, fate{}, call(t.Context(), d, 2))
					}
					time.Sleep(time.Minute)
					requireIdle(t, d)
				}
			})
		})
	}
}

// A poll worker is not used on fake time.
func TestWhatAHookPanicsWithReachesItsCallerByAPollWorker(t *testing.T) {
	for name, c := range hooks {
		t.Run(name, func(t *testing.T) {
			d := dispatch.New(hooked(1, c.hook), nil, linger(10*time.Millisecond))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for range 20 {
				f := call(ctx, d, 1)
				require.NotNil(t, f.raised)
				require.Equal(t, c.value, f.raised.Value)
				require.Equal(t, fate{}, call(ctx, d, 2))
			}
		})
	}
}

// One panic stays one panic. The others of the pipeline do not know what became of their commands.
func TestAHookThatPanicsAtAPipelineLeavesNobodyWithoutAnAnswer(t *testing.T) {
	for name, c := range hooks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				d := dispatch.New(s, nil, linger(0))
				first := busy(t.Context(), d)
				var mu sync.Mutex
				var fates []fate
				var all sync.WaitGroup
				for n := range int64(6) {
					all.Go(func() {
						f := call(t.Context(), d, 1+n)
						mu.Lock()
						defer mu.Unlock()
						fates = append(fates, f)
					})
				}
				synctest.Wait()
				var hurt atomic.Bool
				s.mu.Lock()
				s.before = func(redis.Cmder) {
					if !hurt.Swap(true) {
						c.hook()
					}
				}
				s.mu.Unlock()
				for range dispatch.FewLeaders {
					require.NoError(t, <-first)
				}
				all.Wait()
				raised, failed := 0, 0
				for _, f := range fates {
					switch {
					case f.raised != nil:
						raised++
					case f.err != nil:
						require.Equal(t, outcome.Unknown, outcome.Of(f.err))
						failed++
					}
				}
				require.Len(t, fates, 6)
				require.Equal(t, 1, raised)
				require.NotZero(t, failed)
				require.Equal(t, fate{}, call(t.Context(), d, 10))
				synctest.Wait()
				requireIdle(t, d)
			})
		})
	}
}

// Its caller has gone, and whoever settles for it must not take the command for answered. Nobody raises the panic, so it is
// told once.
func TestACommandOfOneWhoHasLeftIsUnknownAfterAHooksPanic(t *testing.T) {
	for name, c := range hooks {
		for way, cluster := range map[string]dispatch.Cluster{
			"by a worker": nil,
			"alone":       &topology{}, // which is not asked
		} {
			do := func(ctx context.Context, d *dispatch.Dispatcher) error {
				return d.Do(ctx, "key", command(1), dispatch.Follow)
			}
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := dispatch.New(hooked(1, func() { time.Sleep(time.Second); c.hook() }), cluster, linger(0))
					var told []*raise.Panic
					d.OnStray = func(p *raise.Panic) { told = append(told, p) }
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					defer cancel()
					var flight *dispatch.InFlight
					require.ErrorAs(t, do(ctx, d), &flight)
					require.Equal(t, outcome.Unknown, outcome.Of(ended(t, flight).Err()))
					synctest.Wait()
					require.Len(t, told, 1)
					require.Equal(t, c.value, told[0].Value)

					background, cancel := context.WithTimeout(raise.Background(t.Context(), nil), time.Millisecond)
					defer cancel()
					require.ErrorAs(t, do(background, d), &flight)
					ended(t, flight)
					synctest.Wait()
					require.Len(t, told, 1, "the logger of background work has it")
					requireIdle(t, d)
				})
			})
		}
	}
}

// Of a pipeline's callers the first that is still there raises it.
func TestAPanicThatOneCallerHasLeftIsRaisedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		d := dispatch.New(s, nil, linger(0))
		d.OnStray = func(*raise.Panic) { t.Error("a caller is there") }
		first := busy(t.Context(), d)
		leaving, leave := context.WithCancel(t.Context())
		fates := make(chan fate, 6)
		for n := range int64(6) {
			ctx := leaving
			if n%2 == 1 { // each leader's share begins with one who leaves, and has one who stays
				ctx = t.Context()
			}
			go func() { fates <- call(ctx, d, 1+n) }()
			synctest.Wait()
		}
		s.mu.Lock()
		s.before = func(redis.Cmder) { time.Sleep(time.Hour); panic("a hook") }
		s.mu.Unlock()
		for range dispatch.FewLeaders {
			require.NoError(t, <-first)
		}
		time.Sleep(time.Second)
		leave()
		raised := 0
		for range 6 {
			if (<-fates).raised != nil {
				raised++
			}
		}
		require.NotZero(t, raised)
	})
}
