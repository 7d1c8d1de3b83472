//go:build !linux

package delay

import "time"

// sleepUntil comes up to a millisecond late on some systems. The round trip is measured and shown.
func sleepUntil(due time.Time) { time.Sleep(time.Until(due)) }
