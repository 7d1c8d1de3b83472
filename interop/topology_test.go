package interop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What depends on how the servers are set up: where the keys and the channels of an object are, and how a message
// finds its waiters. On a cluster that is sharded pub/sub on both sides.

func TestOnAClusterEverythingIsSharedToo(t *testing.T) { everywhere(t, clusterWorld(t)) }

func TestBehindSentinelsEverythingIsSharedToo(t *testing.T) { everywhere(t, sentinelWorld(t)) }

func everywhere(t *testing.T, w *world) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			for _, run := range []struct {
				name string
				run  func(*testing.T, *world, object, actor, actor)
			}{{"exclusion", exclusion}, {"wake-up", wakeUp}, {"lease", leaseEnd}, {"contention", contention}} {
				if k.kind == "multi" && w.shards && run.name == "wake-up" {
					continue // its members are on different nodes; contention waits for them as well
				}
				t.Run(run.name, func(t *testing.T) {
					t.Parallel()
					bothWays(t, w, func(t *testing.T, first, second actor) { run.run(t, w, w.object(k.kind), first, second) })
				})
			}
			t.Run("watchdog", func(t *testing.T) {
				t.Parallel()
				quickBothWays(t, w, func(t *testing.T, first, second actor) { keeps(t, w, w.object(k.kind), first, second) })
			})
		})
	}
	counterWakeUps(t, w)
	readersAndWriter(t, w)
	t.Run("storm", func(t *testing.T) {
		blow(t, w, plan{
			goProcesses: 2, jvms: 1, grants: 1500, events: 6, killGo: true, killJava: true,
			objects: stormKinds, permits: map[string]int{"storm-permits": 3},
		})
	})
}

// counterWakeUps has those who wait for permits and latches of one side woken by the other.
func counterWakeUps(t *testing.T, w *world) {
	t.Helper()
	for _, kind := range []string{"semaphore", "permits"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object(kind)
				_, err := first.setUp(o, 1)
				require.NoError(t, err)
				ids, err := first.acquire(o, 1, how{})
				require.NoError(t, err)
				got := start(func() error { _, err := second.acquire(o, 1, how{}); return err })
				w.awaitWaiter(t, o)
				released := time.Now()
				require.NoError(t, first.release(o, 1, ids))
				await(t, "a permit", got)
				require.Less(t, time.Since(released), soon)
				require.Zero(t, available(t, first, o))
			})
		})
	}
	t.Run("latch", func(t *testing.T) {
		t.Parallel()
		bothWays(t, w, func(t *testing.T, first, second actor) {
			o := w.object("latch")
			_, err := first.setUp(o, 2)
			require.NoError(t, err)
			open := start(func() error { return second.await(o, 0) })
			w.awaitWaiter(t, o)
			require.NoError(t, first.countDown(o))
			require.NoError(t, w.sameSide(t, second).countDown(o)) // the other one waits
			await(t, "the latch", open)
			require.Zero(t, available(t, first, o))
		})
	})
}

// readersAndWriter has a writer wait for the last of the readers of both sides.
func readersAndWriter(t *testing.T, w *world) {
	t.Helper()
	t.Run("read-write", func(t *testing.T) {
		t.Parallel()
		bothWays(t, w, func(t *testing.T, first, second actor) {
			read, write := sides(w.object("read"))
			require.NoError(t, first.lock(read, how{}))
			require.NoError(t, second.lock(read, how{}))
			writer := w.sameSide(t, second)
			got := start(func() error { return writer.lock(write, how{}) })
			w.awaitWaiter(t, write)
			require.NoError(t, second.unlock(read))
			released := time.Now()
			require.NoError(t, first.unlock(read))
			await(t, "the write lock", got)
			require.Less(t, time.Since(released), soon)
			require.NoError(t, writer.unlock(write))
			require.Empty(t, w.keys(t, read))
		})
	})
}
