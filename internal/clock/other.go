//go:build !linux && !darwin

package clock

import "time"

// counts is false where the monotonic clock counts suspended time itself, and where the system cannot be
// asked without cgo.
const counts = false

func suspended() time.Duration { return 0 }
