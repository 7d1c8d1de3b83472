//go:build linux || darwin

package clock

import "time"

// counts says that the system has a clock that counts suspended time, and that Go's monotonic one does not.
const counts = true

// suspended is for how long the system was suspended since it started. Where that cannot be asked it is
// never.
func suspended() time.Duration {
	least := time.Duration(1 << 62)
	for range 3 { // the calls may be apart if the processor is taken away in between
		running, ok := read(stopping)
		all, ok2 := read(continuous)
		if !ok || !ok2 {
			return 0
		}
		least = min(least, all-running)
	}
	return least
}
