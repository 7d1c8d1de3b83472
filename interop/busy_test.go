package interop_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A crowd is what keeps a lock busy: goroutines of several Go processes, in sections as short as can be.
type crowd struct {
	o        object
	sections atomic.Int64
	inside   atomic.Int64
	wrong    atomic.Int64 // somebody else was inside, or the token did not grow
	token    atomic.Int64 // the last one
	stop     atomic.Bool
	done     []<-chan error
}

const (
	crowdProcesses = 3
	crowdThreads   = 4
)

func gather(t *testing.T, w *world, o object, processes int) *crowd {
	t.Helper()
	c := &crowd{o: o}
	for range processes {
		process := w.process(t)
		for range crowdThreads {
			member := *process
			c.done = append(c.done, start(func() error { return c.work(&member) }))
		}
	}
	t.Cleanup(func() { c.stop.Store(true) })
	eventually(t, "a row", func() bool { return len(w.row(t, o)) == processes-1 && c.sections.Load() > 1000 })
	return c
}

func (c *crowd) work(a *goActor) error {
	for !c.stop.Load() {
		if err := a.lock(c.o, how{}); err != nil {
			return err
		}
		c.enter(a.token(c.o))
		c.sections.Add(1)
		c.inside.Add(-1)
		if err := a.unlock(c.o); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) enter(token int64) {
	if c.inside.Add(1) != 1 {
		c.wrong.Add(1)
	}
	if last := c.token.Swap(token); c.o.kind == "fenced" && token <= last {
		c.wrong.Add(1)
	}
}

func (c *crowd) disperse(t *testing.T) {
	t.Helper()
	c.stop.Store(true)
	for _, done := range c.done {
		await(t, "the end of a section", done)
	}
	require.Zero(t, c.wrong.Load())
}

// A Java waiter sits in no row. It comes in because a lock that goes round, in a row or in one process, is left to others
// now and then.
func TestAJavaWaiterComesInBesideBusyGoProcesses(t *testing.T) {
	bounded := how{wait: patience * 9 / 10}
	w := singleWorld(t)
	for _, kind := range []string{"lock", "fenced"} {
		t.Run(kind+" without bound", func(t *testing.T) { comesIn(t, w, w.object(kind), crowdProcesses, how{}) })
		t.Run(kind+" within a time", func(t *testing.T) { comesIn(t, w, w.object(kind), crowdProcesses, bounded) })
		t.Run(kind+" beside one process", func(t *testing.T) { comesIn(t, w, w.object(kind), 1, how{}) })
	}
	w = clusterWorld(t)
	t.Run("lock on a cluster", func(t *testing.T) { comesIn(t, w, w.object("lock"), crowdProcesses, how{}) })
	t.Run("lock on a cluster beside one process", func(t *testing.T) { comesIn(t, w, w.object("lock"), 1, how{}) })
}

// comesIn has a Java thread take turns beside the crowd for a while, and one turn at least.
func comesIn(t *testing.T, w *world, o object, processes int, way how) {
	cases.Add(1)
	c := gather(t, w, o, processes)
	java := w.java(t)
	var sections []int64
	var waits []time.Duration
	all, began := c.sections.Load(), time.Now()
	for turns := 0; turns == 0 || turns < 40 && time.Since(began) < 3*time.Second; turns++ {
		before, asked := c.sections.Load(), time.Now()
		require.NoError(t, java.lock(o, way), "after %d Go sections", c.sections.Load()-before)
		sections, waits = append(sections, c.sections.Load()-before), append(waits, time.Since(asked))
		c.enter(java.token(o))
		held := java.held(o)
		c.inside.Add(-1)
		require.True(t, held)
		require.NoError(t, java.unlock(o))
	}
	rate := float64(c.sections.Load()-all) / time.Since(began).Seconds()
	c.disperse(t)
	slices.Sort(sections)
	slices.Sort(waits)
	last := len(waits) - 1
	t.Logf("beside %.0f Go sections a second Java had %d turns, after %d sections in the median and %d at most, %v and %v", rate,
		len(waits), sections[last/2], sections[last], waits[last/2].Round(time.Millisecond), waits[last].Round(time.Millisecond))
	require.GreaterOrEqual(t, len(waits), 5, "the lock is left to Java every 25 ms, and long enough for it every eighth time")
	eventually(t, "nothing is left", func() bool { return len(w.left(t, o)) == 0 })
}
