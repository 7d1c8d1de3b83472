package delay

import (
	"syscall"
	"time"
)

// sleepUntil sleeps in the kernel: the timers of the runtime come a millisecond late when nothing else runs, which is
// more than what is to be added.
func sleepUntil(due time.Time) {
	for wait := time.Until(due); wait > 0; wait = time.Until(due) { // again when a signal has ended it
		duration := syscall.NsecToTimespec(int64(wait))
		_ = syscall.Nanosleep(&duration, nil)
	}
}
