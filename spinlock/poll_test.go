package spinlock_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/spinlock"
)

// A witness notes when its client asked.
type witness struct {
	mu    sync.Mutex
	times []time.Time
	stop  func() // unless nil, called when there were more questions than any test has a use for
}

func (w *witness) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (w *witness) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.note(cmd)
		return next(ctx, cmd)
	}
}

func (w *witness) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		w.note(cmds...)
		return next(ctx, cmds)
	}
}

func (w *witness) note(cmds ...redis.Cmder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cmd := range cmds {
		if strings.HasPrefix(cmd.Name(), "eval") {
			w.times = append(w.times, time.Now())
		}
		if w.stop != nil && len(w.times) > 50_000 {
			w.stop()
		}
	}
}

// since gives the times of the questions so far, from start on, and forgets them.
func (w *witness) since(start time.Time) (asked []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.times {
		asked = append(asked, at.Sub(start))
	}
	w.times = nil
	return asked
}

// contended is a lock on fake time that somebody else holds, and a witness of what the client under test asks.
func contended(t *testing.T) (*redis.Client, *redlatch.Hold, *witness) {
	mini, client := redistest.InMemory(t)
	other := redis.NewClient(redistest.InMemoryOptions(mini))
	t.Cleanup(func() { _ = other.Close() })
	warm := spin(client, "warm") // the server knows the scripts from here on
	hold, err := warm.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))

	holder, err := spin(other, "lock").Lock(t.Context())
	require.NoError(t, err)
	seen := &witness{}
	client.AddHook(seen)
	return client, holder, seen
}

const ms = time.Millisecond

// every is a back-off without jitter.
func every(d time.Duration) redlatch.Option {
	return spinlock.WithBackOff(func(int64) time.Duration { return d })
}

// spin makes a lock whose goroutines do not outlive the bubble.
func spin(client redlatch.Client, name string, opts ...redlatch.Option) *spinlock.Lock {
	return spinlock.New(client, name, append(opts, briefly.Linger(0))...)
}

func TestABackOffOfTheProgramsOwnIsFollowed(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client, holder, seen := contended(t)
		lock := spin(client, "lock", spinlock.WithBackOff(func(n int64) time.Duration {
			return []time.Duration{5 * ms, -time.Hour, 0, 100 * ms}[min(n, 4)-1]
		}))
		for range 2 { // each wait begins anew
			start := time.Now()
			_, err := lock.Lock(t.Context(), redlatch.WithWait(300*ms))
			require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			require.Equal(t, []time.Duration{0, 5 * ms, 6 * ms, 7 * ms, 107 * ms, 207 * ms}, seen.since(start))
		}
		require.NoError(t, holder.Unlock(t.Context()))
	})
}

func TestTheDefaultBackOffDoublesWithJitterAndNeverExceedsItsMaximum(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client, holder, seen := contended(t)
		start := time.Now()
		_, err := spin(client, "lock").Lock(t.Context(), redlatch.WithWait(10*time.Second), redlatch.WithPoll(ms*50))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		asked := seen.since(start)
		const most = 128 * ms
		whole, longest, shortest := 1*ms, time.Duration(0), most
		for i := range len(asked) - 1 {
			slept := asked[i+1] - asked[i]
			require.GreaterOrEqual(t, slept, whole/2, "sleep %d", i)
			require.LessOrEqual(t, slept, whole, "sleep %d", i)
			if whole == most {
				longest, shortest = max(longest, slept), min(shortest, slept)
			}
			whole = min(2*whole, most)
		}
		require.Greater(t, longest, most*9/10, "the whole range is used")
		require.Less(t, shortest, most*6/10)
		require.NoError(t, holder.Unlock(t.Context()))
	})
}

func TestAnEndlessWaitGoesOnPolling(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client, holder, seen := contended(t)
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen.stop = cancel
		const wait = 16 * time.Minute // the library's policies stop after 15 minutes by default
		_, err := spin(client, "lock").Lock(ctx, redlatch.WithWait(wait))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		asked := seen.since(start)
		require.Greater(t, asked[len(asked)-1], wait-128*ms)
		require.Less(t, len(asked), int(wait/(64*ms))+20)
		require.NoError(t, holder.Unlock(t.Context()))
	})
}

func TestOneWaiterOfAProcessPollsForAll(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client, holder, seen := contended(t)
		lock := spin(client, "lock", every(10*ms))
		start := time.Now()
		granted := make(chan time.Duration, 3)
		for range 3 {
			go func() {
				hold, err := lock.Lock(t.Context())
				if err == nil {
					granted <- time.Since(start)
					time.Sleep(25 * ms)
					err = hold.Unlock(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(95 * ms)
		// The first asked before it waited, the others found somebody waiting.
		require.Equal(t, []time.Duration{0, 10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms, 60 * ms, 70 * ms, 80 * ms, 90 * ms}, seen.since(start))
		require.NoError(t, holder.Unlock(t.Context()))
		// A waiter that follows a long hold of its own process leaves the lock to others for a moment before it asks.
		require.Equal(t, []time.Duration{100 * ms, 129 * ms, 158 * ms}, []time.Duration{<-granted, <-granted, <-granted})
		time.Sleep(time.Second)
	})
}

// The goroutines of a process hand the lock on to one another for a few milliseconds, and then leave it to others.
func TestAProcessHandsTheLockOnWithoutACommandAndLeavesItToOthers(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client, holder, seen := contended(t)
		lock := spin(client, "lock")
		stop, served := make(chan struct{}), 0
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					hold, err := lock.Lock(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					served++ // under the lock
					time.Sleep(50 * time.Microsecond)
					if err := hold.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		require.NoError(t, holder.Unlock(t.Context()))
		start := time.Now()
		time.Sleep(10 * time.Second)
		commands := len(seen.since(start))
		others := redis.NewClient(client.Options())
		defer others.Close()
		worst := time.Duration(0)
		for range 50 {
			asked := time.Now()
			theirs, err := spin(others, "lock").Lock(t.Context())
			require.NoError(t, err)
			worst = max(worst, time.Since(asked))
			require.NoError(t, theirs.Unlock(t.Context()))
			time.Sleep(10 * time.Millisecond)
		}
		close(stop)
		wg.Wait()
		require.Greater(t, served, 20*commands, "they share the commands of those who ask")
		require.Less(t, worst, 10*time.Second, "a fourth of the time is for others, who ask every 128 ms at the latest")
		t.Log(served, commands, worst)
	})
}

func TestAWaitEndsInTheMiddleOfASleep(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client, holder, seen := contended(t)
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		time.AfterFunc(12345*time.Microsecond, cancel)
		_, err := spin(client, "lock", every(time.Hour)).Lock(ctx)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 12345*time.Microsecond, time.Since(start))
		require.Equal(t, []time.Duration{0}, seen.since(start))
		require.NoError(t, holder.Unlock(t.Context()))
	})
}

// The last poll may succeed at the very moment at which the wait ends. Held is what is returned, and nothing else.
func TestAPollThatSucceedsAsTheWaitEndsIsReturnedOrUndone(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		client, holder, _ := contended(t)
		require.NoError(t, holder.Unlock(t.Context()))
		lock := spin(client, "lock", every(10*ms))
		for range 100 {
			blocker, err := spin(client, "lock").Lock(t.Context(), redlatch.WithLease(95*ms))
			require.NoError(t, err)
			hold, err := lock.Lock(t.Context(), redlatch.WithWait(100*ms), redlatch.WithLease(time.Hour))
			synctest.Wait()
			locked, lockedErr := lock.IsLocked(t.Context())
			require.NoError(t, lockedErr)
			require.Equal(t, err == nil, locked)
			if err == nil {
				require.NoError(t, hold.Unlock(t.Context()))
			}
			require.Error(t, blocker.Unlock(t.Context())) // its lease ran out
		}
	})
}

func TestABackOffWithoutAFunctionIsRefused(t *testing.T) {
	_, client := redistest.InMemory(t)
	option := spinlock.WithBackOff(nil)
	for _, lock := range []*spinlock.Lock{spin(client, "lock", option), spin(client, "lock")} {
		_, err := lock.Lock(t.Context(), option)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, "WithBackOff(nil): a function is needed")
	}
}
