//go:build linux

package clock

import (
	"syscall"
	"time"
	"unsafe"
)

const (
	stopping   = 1 // CLOCK_MONOTONIC, Go's
	continuous = 7 // CLOCK_BOOTTIME, the same with the time in which the system was suspended
)

func read(clock uintptr) (time.Duration, bool) {
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano()), errno == 0
}
