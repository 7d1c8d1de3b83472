//go:build !race

package suite_test

// The race detector allocates by itself.

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
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

// allocated is what a pair allocates of n that run takes: the least of several rounds, for timers and connections that break
// in come and go. No garbage is collected meanwhile, for a collection empties the pools.
func allocated(rounds, n int, run func(n int)) (objects, bytes float64) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	run(n)
	for i := range rounds {
		runtime.GC()
		run(n) // fills the pools
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run(n)
		runtime.ReadMemStats(&after)
		o, b := float64(after.Mallocs-before.Mallocs)/float64(n), float64(after.TotalAlloc-before.TotalAlloc)/float64(n)
		if i == 0 || o < objects {
			objects = o
		}
		if i == 0 || b < bytes {
			bytes = b
		}
	}
	return objects, bytes
}

// The everyday path: every caller has a key of its own, and a context that can be cancelled. The bounds are what a pair took
// before there were loans, tokens in blocks, and a process queue whose keys are declared. What comes since has to do with it.
func TestCallersWithKeysOfTheirOwnAllocateLittle(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, bound := range []struct {
		callers        int
		objects, bytes float64
	}{{1, 19, 1323}, {16, 22.8, 1355}, {128, 17.3, 1300}} {
		locks := make([]*rlock.Lock, bound.callers)
		for i := range locks {
			locks[i] = rlock.New(client, srv.Key(t, fmt.Sprint(bound.callers, "-", i)))
		}
		objects, bytes := allocated(10, 6000, func(n int) {
			var left atomic.Int64
			left.Store(int64(n))
			var wg sync.WaitGroup
			for _, lock := range locks {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						hold, err := lock.Lock(ctx)
						if err == nil {
							err = hold.Unlock(ctx)
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
		t.Logf("%d callers: %.2f objects, %.0f bytes", bound.callers, objects, bytes)
		const own = 0.05 // the goroutines of the test, and a timer now and then
		require.LessOrEqual(t, objects, bound.objects+own, "objects, %d callers", bound.callers)
		require.LessOrEqual(t, bytes, bound.bytes+5, "bytes, %d callers", bound.callers)
	}
}

// A cost is what one uncontended pair of a primitive takes.
type cost struct {
	commands int // that the client sends
	calls    int // that the server executes, those in scripts included
	objects  int // allocated in this process, with a context without end
	bytes    int
	most     int // objects, with a context that can be cancelled: fewer where the network poller is too busy to help
}

const costsFile = "costs.txt"

const costsHead = `# What one uncontended pair of each primitive takes: commands that the client sends, commands that the server executes (those in
# scripts included), objects and bytes that the process allocates with a context without end, and objects at most with one that can be
# cancelled. TestWhatAPairCosts measures it, and REDLATCH_COSTS=write has it write this file. A commit that raises a number says why
# in a line of its message that begins with "costs:"; .ci/costs looks. The numbers of the redlock are the most that there may be.
`

// Any change of what a pair costs is a line in a diff: what nobody sees is lost bit by bit.
func TestWhatAPairCosts(t *testing.T) {
	all, measured := pairs(t), map[string]cost{}
	for _, name := range slices.Sorted(maps.Keys(all)) { // in order: an identity has a number, which takes more bytes the greater it is
		measured[name] = costOf(t, name, all[name])
	}
	var text strings.Builder
	text.WriteString(costsHead)
	fmt.Fprintf(&text, "%-16s %8s %8s %8s %8s %8s\n", "# primitive", "commands", "calls", "objects", "bytes", "most")
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		c := measured[name]
		fmt.Fprintf(&text, "%-16s %8d %8d %8d %8d %8d\n", name, c.commands, c.calls, c.objects, c.bytes, c.most)
	}
	file := filepath.Join("testdata", costsFile)
	if os.Getenv("REDLATCH_COSTS") == "write" {
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
		return
	}
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	known := map[string]cost{}
	for line := range strings.Lines(string(written)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name string
		var c cost
		_, err := fmt.Sscan(line, &name, &c.commands, &c.calls, &c.objects, &c.bytes, &c.most)
		require.NoError(t, err, line)
		known[name] = c
	}
	for name, is := range measured {
		was, ok := known[name]
		slack := max(8, was.bytes/100)
		same := is.commands == was.commands && is.calls == was.calls && is.objects == was.objects &&
			is.bytes <= was.bytes+slack && is.bytes >= was.bytes-slack && is.most <= was.most
		if name == "redlock" { // what becomes of the server that is not needed for the majority differs from pair to pair
			same = is.commands <= was.commands && is.calls <= was.calls && is.objects <= was.objects && is.bytes <= was.bytes && is.most <= was.most
		}
		if !ok || !same {
			t.Errorf("%s: a pair costs %+v, and testdata/%s says %+v; if that is meant, run this test with REDLATCH_COSTS=write",
				name, is, costsFile, was)
		}
	}
	require.Len(t, known, len(measured))
}

// A pair takes something and gives it back, on servers of which the costs are the sum.
type pair struct {
	servers []*redistest.Server
	run     func(ctx context.Context) error
}

func pairs(t *testing.T) map[string]pair {
	srv := redistest.Process(t)
	client := srv.Client(t)
	ours := []*redistest.Server{srv}
	of := func(lock redlatch.Locker, servers ...*redistest.Server) pair {
		return pair{servers, func(ctx context.Context) error {
			hold, err := lock.Lock(ctx)
			if err != nil {
				return err
			}
			return hold.Unlock(ctx)
		}}
	}
	three := []*redistest.Server{redistest.Process(t), redistest.Process(t), redistest.Process(t)}
	var clients []redlatch.Client
	for _, server := range three {
		clients = append(clients, server.Client(t))
	}
	pool, permits, latch := semaphore.New(client, "pool"), permitsemaphore.New(client, "permits"), countdownlatch.New(client, "latch")
	_, err := pool.TrySetPermits(t.Context(), 3)
	require.NoError(t, err)
	_, err = permits.TrySetPermits(t.Context(), 3)
	require.NoError(t, err)
	return map[string]pair{
		"rlock":      of(rlock.New(client, "plain"), srv),
		"spinlock":   of(spinlock.New(client, "spin"), srv),
		"fencedlock": of(fencedlock.New(client, "fenced"), srv),
		"fairlock":   of(fairlock.New(client, "fair"), srv),
		"write":      of(rwlock.New(client, "rw").Writer(), srv),
		"read":       of(rwlock.New(client, "rw").Reader(), srv),
		"multilock":  of(multilock.New([]redlatch.Locker{rlock.New(client, "1"), rlock.New(client, "2"), rlock.New(client, "3")}), srv),
		"group":      of(multilock.NewGroup(client, "group", []string{"a", "b", "c"}), srv),
		"redlock":    of(redlock.New(clients, "red"), three...),
		"semaphore": {ours, func(ctx context.Context) error {
			if err := pool.Acquire(ctx, 1); err != nil {
				return err
			}
			return pool.Release(ctx, 1)
		}},
		"permitsemaphore": {ours, func(ctx context.Context) error {
			permit, err := permits.Acquire(ctx, 1)
			if err != nil {
				return err
			}
			return permit.Release(ctx)
		}},
		"countdownlatch": {ours, func(ctx context.Context) error {
			if _, err := latch.TrySetCount(ctx, 1); err != nil {
				return err
			}
			return latch.CountDown(ctx)
		}},
	}
}

func costOf(t *testing.T, name string, p pair) (c cost) {
	t.Helper()
	const n = 500
	run := func(ctx context.Context) func(n int) {
		return func(n int) {
			for range n {
				if err := p.run(ctx); err != nil {
					t.Fatal(name, err)
				}
			}
		}
	}
	stats := func() (commands, calls int) {
		for _, server := range p.servers {
			for command, n := range server.CommandStats(t) {
				switch command {
				case "info", "client", "hello", "config|get":
				case "evalsha", "eval", "subscribe", "ssubscribe", "script|load", "ping", "wait":
					commands += int(n)
				default:
					calls += int(n)
				}
			}
		}
		return commands, calls + commands
	}
	run(context.Background())(n)
	for i := range 5 { // what a round has besides is the registry's, or a connection's
		commands, calls := stats()
		run(context.Background())(n)
		afterwards, all := stats()
		commands, calls = (afterwards-commands+n/2)/n, (all-calls+n/2)/n
		if i == 0 || calls < c.calls {
			c.commands, c.calls = commands, calls
		}
	}
	objects, bytes := allocated(5, n, run(context.Background()))
	c.objects, c.bytes = int(objects+0.3), int(bytes)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	objects, _ = allocated(5, n, run(ctx))
	c.most = int(objects + 0.3)
	return c
}
