//go:build darwin

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	stopping   = unix.CLOCK_UPTIME_RAW    // mach_absolute_time, Go's
	continuous = unix.CLOCK_MONOTONIC_RAW // mach_continuous_time, the same with the time in which the system slept
)

func read(clock int32) (time.Duration, bool) {
	var t unix.Timespec
	err := unix.ClockGettime(clock, &t)
	return time.Duration(t.Nano()), err == nil
}
