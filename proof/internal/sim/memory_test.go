package sim_test

import (
	"runtime"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/sim"
)

// Thousands of plans run in one process.
func TestAPlanLeavesNothingInMemory(t *testing.T) {
	used := func() int64 {
		for range 3 { // cleanups, and what they let go of
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	run := func(first, n uint64) {
		for s := range n {
			inBubble(t, sim.Draw(first+s), sim.Library)
		}
	}
	run(60001, 25) // the scripts are compiled
	before := used()
	const n = 30
	run(60101, n)
	if each := (used() - before) / n; each > 50_000 {
		t.Errorf("each plan has left %d bytes", each)
	}
}
