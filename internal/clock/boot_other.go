//go:build !linux && !darwin

package clock

import "time"

// Boot is a reading of a clock that all processes of the machine share: the wall clock, where no better one
// is known.
func Boot() time.Duration { return time.Duration(time.Now().UnixNano()) }
