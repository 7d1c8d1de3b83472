package redistest

import (
	"os"
	"testing"
)

const longVariable = "REDLATCH_LONG" // "1": the tests that take long too, and all rounds of the others

// InFull tells whether the tests are to show all that they can, however long it takes.
func InFull() bool { return os.Getenv(longVariable) == "1" }

// Long leaves a test out that takes long, unless it is asked for. What the test is about has a shorter one too, or needs a real
// server anyway.
func Long(tb testing.TB) {
	tb.Helper()
	if !InFull() {
		tb.Skip("redistest: left out, for it takes long; " + longVariable + "=1 has it run")
	}
}

// Rounds is how often a test does what chance decides: a few times, and all where there is time.
func Rounds(few, all int) int {
	if InFull() {
		return all
	}
	return few
}
