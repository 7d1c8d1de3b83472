package suite_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// These tests show what holding and waiting cost while nothing changes, in commands at the server and in goroutines and
// bytes here. They count over a window of real time. Each bound grows with the time that really passed, so a busy machine
// makes them weaker and never wrong.

// among has do called for 0 to n-1 by a few goroutines, and reports the first error.
func among(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		failed atomic.Pointer[error]
	)
	for range 16 {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && failed.Load() == nil; i = next.Add(1) - 1 {
				if err := do(int(i)); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		require.NoError(t, *err)
	}
}

// await polls a condition.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not seen: %s", what)
		}
	}
}

// A window counts the commands of a server from its making on.
type window struct {
	srv    *redistest.Server
	start  time.Time
	before map[string]int64
}

func open(t *testing.T, srv *redistest.Server) *window {
	t.Helper()
	return &window{srv: srv, start: time.Now(), before: srv.CommandStats(t)}
}

// until waits until the window has been open for d, and returns how long it really was, how many scripts were sent in that
// time, and what else was, but for what scripts call themselves.
func (w *window) until(t *testing.T, d time.Duration) (elapsed time.Duration, scripts int64, others map[string]int64) {
	t.Helper()
	time.Sleep(time.Until(w.start.Add(d)))
	others = w.srv.CommandStats(t)
	elapsed = time.Since(w.start)
	for name, n := range w.before {
		others[name] -= n
	}
	scripts = others["evalsha"] + others["eval"]
	maps.DeleteFunc(others, func(name string, n int64) bool {
		switch name {
		case "evalsha", "eval", "time", "zadd", "hexists", "pexpire", "pttl", "get", "hget", "hello", "client|setinfo", "client|maint_notifications":
			return true
		}
		return n == 0
	})
	return elapsed, scripts, others
}

// rounds is how often something can happen to each of many in a time, that happens at most once per period.
func rounds(elapsed, period time.Duration) int64 { return int64(elapsed/period) + 1 }

func TestAHoldTakesLessThan500BytesOfHeap(t *testing.T) {
	const n = 10_000
	// What earlier tests left lingering must not go meanwhile.
	await(t, "their goroutines' end", func() bool { return runtime.NumGoroutine()-unbegun() <= 4 })
	rdb := redistest.Process(t).Client(t)
	ctx := t.Context()
	locks, holds := make([]*rlock.Lock, n), make([]*redlatch.Hold, n)
	for i := range locks {
		locks[i] = rlock.New(rdb, fmt.Sprint("held", i))
	}
	take := func(i int) (err error) { holds[i], err = locks[i].Lock(ctx); return err }
	give := func(i int) error { return holds[i].Unlock(ctx) }
	among(t, n/5, take) // connections, workers, buffers and scripts are there now
	among(t, n/5, give)
	clear(holds)

	// Of what a hold takes, not all is given back at once; and meanwhile other things may have come or gone, which does not
	// happen each time.
	var taken, given float64
	for range 3 {
		before := heap()
		among(t, n, take)
		held := heap()
		among(t, n, give)
		clear(holds)
		after := heap()
		taken, given = (float64(held)-float64(before))/n, (float64(held)-float64(after))/n
		t.Logf("%.0f bytes taken for each hold, %.0f given back", taken, given)
		if max(taken, given) < 500 {
			break
		}
	}
	runtime.KeepAlive(locks)
	require.Less(t, max(taken, given), 500.0)
}

// unbegun is how many goroutines are those of parallel tests, which wait until the others are over.
func unbegun() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "testing.(*T).Parallel(")
}

// heap is how much of it is in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what clean-ups let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTenThousandHoldsCostAHundredCommandsPerPeriodAndNoGoroutine(t *testing.T) {
	const n, timeout, period = 10_000, 12 * time.Second, 4 * time.Second // a busy machine takes seconds for so many
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	var lost atomic.Int64
	holds := make([]*redlatch.Hold, n)
	take := func(i int) (err error) {
		holds[i], err = rlock.New(rdb, fmt.Sprint("held", i), redlatch.WithWatchdogTimeout(timeout),
			redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
				if e.Kind == redlatch.EventLost {
					lost.Add(1)
				}
			}))).Lock(t.Context())
		return err
	}
	among(t, 16, take)
	few := runtime.NumGoroutine()
	among(t, n-16, func(i int) error { return take(i + 16) })
	await(t, "the script of the renewals at the server, and goroutines as for sixteen holds", func() bool {
		return srv.CommandStats(t)["hexists"] > n && runtime.NumGoroutine() <= few+4
	})

	w := open(t, srv)
	elapsed, scripts, others := w.until(t, 5*period/2)
	t.Logf("%d commands in %.1f periods", scripts, elapsed.Seconds()/period.Seconds())
	// A hundred for the holds, and a few more where the crowds that travel together end.
	require.LessOrEqual(t, scripts, 110*rounds(elapsed, period))
	require.Empty(t, others)
	require.Zero(t, lost.Load())
	require.LessOrEqual(t, runtime.NumGoroutine(), few+16, "a few sends may be under way")
	among(t, n, func(i int) error {
		if !holds[i].Valid() {
			return fmt.Errorf("hold %d is not valid any more", i)
		}
		return holds[i].Unlock(t.Context())
	})
}

// take makes somebody else hold n names.
func occupy(t *testing.T, rdb redis.UniversalClient, n int) (names []string) {
	t.Helper()
	_, err := rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for i := range n {
			names = append(names, fmt.Sprint("wanted", i))
			pipe.HSet(t.Context(), names[i], "somebody:1", 1)
			pipe.PExpire(t.Context(), names[i], time.Hour)
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

// subscribers is how many connections listen.
func subscribers(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	list, err := rdb.Do(t.Context(), "client", "list", "type", "pubsub").Text()
	require.NoError(t, err)
	return strings.Count(list, "\n")
}

// pings is how many signs of life the subscriber asks for in a time.
func pings(elapsed time.Duration) int64 { return rounds(elapsed, 10*time.Second) }

func TestTenThousandWaitersCostOneConnectionAndACommandPerPollEach(t *testing.T) {
	const n, poll = crowd, 2 * time.Second
	srv := redistest.Process(t)
	admin := srv.Client(t)
	names := occupy(t, admin, n)
	rdb := srv.Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	var waiters sync.WaitGroup
	for _, name := range names {
		waiters.Go(func() {
			if _, err := rlock.New(rdb, name, redlatch.WithPoll(poll)).Lock(ctx); ctx.Err() == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	defer waiters.Wait()
	defer cancel()
	await(t, "everybody subscribed, and refused twice", func() bool {
		channels, err := admin.PubSubChannels(t.Context(), "*").Result()
		require.NoError(t, err)
		return len(channels) == 3*n && srv.CommandStats(t)["evalsha"] > 2*n
	})
	require.Equal(t, 1, subscribers(t, admin))

	w := open(t, srv)
	elapsed, scripts, others := w.until(t, 13*poll/5)
	t.Logf("%.2f commands for each waiter in %.1f polls", float64(scripts)/n, elapsed.Seconds()/poll.Seconds())
	require.Greater(t, scripts, int64(n)) // else nothing was measured: waiters of a busy machine ask late
	// The jitter shortens a poll by a tenth at most.
	require.LessOrEqual(t, scripts, n*rounds(elapsed, poll-poll/10))
	require.LessOrEqual(t, others["ping"], pings(elapsed))
	delete(others, "ping")
	require.Empty(t, others)
	require.Equal(t, 1, subscribers(t, admin))
}

func TestWaitersForOneNameCostACommandPerPollTogether(t *testing.T) {
	const n, poll = 64, time.Second
	srv := redistest.Process(t)
	admin := srv.Client(t)
	name := occupy(t, admin, 1)[0]
	lock := rlock.New(srv.Client(t), name, redlatch.WithPoll(poll))
	ctx, cancel := context.WithCancel(t.Context())
	var waiters sync.WaitGroup
	for range n {
		waiters.Go(func() { _, _ = lock.Lock(ctx) })
	}
	defer waiters.Wait()
	defer cancel()
	await(t, "everybody in line", func() bool {
		info, err := lock.Inspect(t.Context())
		require.NoError(t, err)
		return info.Waiters == int64(n) && subscribers(t, admin) == 1
	})

	w := open(t, srv)
	elapsed, scripts, others := w.until(t, 9*poll/2)
	require.Positive(t, scripts)
	require.LessOrEqual(t, scripts, rounds(elapsed, poll-poll/10))
	require.LessOrEqual(t, others["ping"], pings(elapsed))
	delete(others, "ping")
	require.Empty(t, others)
}
