package sim_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/redlatch/redlatch/proof/internal/sim"
)

// Thousands of plans run in one process. What stays for good, such as compiled scripts, is there after the first time; what a
// plan would leave is there once more after the second.
func TestAPlanLeavesNothingInMemory(t *testing.T) {
	const n = 30
	run := func() {
		for s := range uint64(n) {
			inBubble(t, sim.Draw(60101+s), sim.Library)
		}
	}
	run()
	before := used()
	for range 5 {
		before = min(before, used())
	}
	run()
	// Cleanups, and what they let go of, are a goroutine's work, which a busy machine may delay: memory that is never given
	// back is what is wrong.
	each := (used() - before) / n
	for begun := time.Now(); each > 50_000 && time.Since(begun) < time.Minute; each = (used() - before) / n {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("each plan has left %d bytes", each)
	if each > 50_000 {
		t.Error("that is too much")
	}
}

// used is how much memory is in use or has not been found to be free.
func used() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
