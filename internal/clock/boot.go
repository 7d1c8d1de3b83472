//go:build linux || darwin

package clock

import "time"

// Boot is a reading of the clock that counts suspended time. All processes of a machine read the same clock,
// so a moment of it can be told to another process.
func Boot() time.Duration {
	now, _ := read(continuous)
	return now
}
