package interop_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Three Go processes of eight callers use something without a pause, in sections of a millisecond. A JVM
// stands in no queue of theirs. It has its turns because what outsiders wait for is left to them now and
// then.

// An equal share of the two threads of the JVM would be 2 of 26.
func TestAJavaMultiLockHasItsShareBesideBusyGoProcesses(t *testing.T) {
	golang, java, longest := besideGo(t, "multi", "multi", 2)
	require.Greater(t, 100*java, 3*golang, "Java had it %d times, Go %d times", java, golang)
	require.Less(t, longest, 3*time.Second/2)
}

func TestAJavaWriterHasItsTurnsBesideReadersOfBusyGoProcesses(t *testing.T) {
	golang, java, longest := besideGo(t, "read", "write", 1)
	require.Greater(t, golang, 100*java, "the readers were hardly kept out")
	require.GreaterOrEqual(t, java, int64(3), "within half a second each time would be six times")
	require.Less(t, longest, 3*time.Second/2)
}

// besideGo answers how often each side had what it wanted in three seconds, and for how long Java waited at
// most.
func besideGo(t *testing.T, goKind, javaKind string, threads int) (golang, java int64, longest time.Duration) {
	t.Helper()
	const processes, callers, length, section = 3, 8, 3 * time.Second, time.Millisecond
	cases.Add(1)
	w := singleWorld(t)
	o := w.object(goKind)
	var had atomic.Int64
	var stop atomic.Bool
	t.Cleanup(func() { stop.Store(true) })
	var all []<-chan error
	for range processes {
		process := w.process(t)
		for range callers {
			a := *process
			all = append(all, start(func() error {
				for !stop.Load() {
					if err := a.lock(o, how{}); err != nil {
						return err
					}
					had.Add(1)
					time.Sleep(section)
					if err := a.unlock(o); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
	eventually(t, "a crowd", func() bool { return had.Load() > 300 })
	before := had.Load()
	other := object{kind: javaKind, name: o.name, names: o.names}
	var result struct{ Shares, Waits []int64 }
	require.NoError(t, w.java(t).(*javaActor).call("bench", other,
		fields{"threads": threads, "millis": length.Milliseconds(), "section": section.Milliseconds()}, &result))
	golang = had.Load() - before
	stop.Store(true)
	for _, done := range all {
		await(t, "the end", done)
	}
	for _, share := range result.Shares {
		java += share
	}
	longest = time.Duration(slices.Max(result.Waits))
	t.Logf("%s beside Go's %s: Java had it %d times, Go %d times; Java waited for %v at most", javaKind, goKind, java, golang, longest)
	return golang, java, longest
}
