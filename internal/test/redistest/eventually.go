package redistest

import (
	"testing"
	"time"
)

// Eventually waits for what takes milliseconds unless the machine is busy.
func Eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("not within 30 s: %s", what)
		}
	}
}
