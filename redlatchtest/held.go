package redlatchtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/holds"
)

// Held is a hold of a lock, or a Permit, that the program has not given back.
type Held struct {
	Name  string // of the lock or semaphore; of a hold of several locks what errors call it
	Owner string // what Hold.Owner returns, or the Permit's first id; empty for a hold of several locks
	Place string // file:line of the program, where it was acquired
}

// String is a sentence.
func (h Held) String() string {
	text := fmt.Sprintf("%q is still held", h.Name)
	if h.Owner != "" {
		text += " by " + h.Owner
	}
	return text + ", acquired at " + h.Place
}

// NothingHeld fails the test when it ends if something is still held that was acquired since the call: it names each hold with
// its holder and the place where it was acquired. Call it first in a test, so that it looks last. A hold that was lost counts
// as given back, and so does one that a [Server.Steal] has returned.
//
// It looks at the whole process. Where tests run at the same time, by t.Parallel, it finds what others hold.
func NothingHeld(tb testing.TB) {
	tb.Helper()
	since := holds.Enter()
	tb.Cleanup(func() {
		tb.Helper()
		var said []string
		for _, e := range holds.Entered(since) {
			said = append(said, heldBy(e).String())
			holds.Strike(e.Hold)
		}
		if len(said) > 0 {
			tb.Errorf("redlatchtest: what the test has acquired was not given back:\n\t%s", strings.Join(said, "\n\t"))
		}
	})
}

// StillHeld returns what is held now of all that the process has acquired since its first [Run], [Bubble], [NothingHeld] or
// StillHeld, in the order of the acquisitions.
func StillHeld() (held []Held) {
	holds.Enter()
	for _, e := range holds.Entered(0) {
		if e.Hold.Ending().Cause() == nil {
			held = append(held, heldBy(e))
		}
	}
	return held
}

func heldBy(e holds.Entry) Held {
	_, name := e.Hold.Object()
	return Held{Name: name, Owner: e.Hold.Owner(), Place: e.There.LogValue().String()}
}
