package watchdog

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
)

// Margin is what is kept off a lease, so that trust ends here before the lease does at the server: a hundredth, for
// the difference between the two clocks' rates, at least 10 ms, and of very short leases no more than half.
func Margin(lease time.Duration) time.Duration {
	return min(max(10*time.Millisecond, lease/100), lease/2)
}

// Trusted is up to when a lease is trusted that was asked for at a moment of clock.Now.
func Trusted(sent time.Time, lease time.Duration) time.Time {
	return clock.Aged(sent).Add(lease - Margin(lease))
}
