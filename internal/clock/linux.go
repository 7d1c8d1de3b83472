//go:build linux

package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// counts says that the system has a clock that counts suspended time, and that the monotonic one does not.
const counts = true

const (
	monotonic = 1 // CLOCK_MONOTONIC, Go's
	boottime  = 7 // CLOCK_BOOTTIME, the same with the time in which the system was suspended
)

// suspended is for how long the system was suspended since it started. Where that cannot be asked it is never.
func suspended() time.Duration {
	least := time.Duration(1 << 62)
	for range 3 { // the calls may be apart if the processor is taken away in between
		mono, ok := read(monotonic)
		boot, ok2 := read(boottime)
		if !ok || !ok2 {
			return 0
		}
		least = min(least, boot-mono)
	}
	return least
}

func read(clock uintptr) (time.Duration, bool) {
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano()), errno == 0
}
