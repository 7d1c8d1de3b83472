package watchdog

import "time"

// Margin is what is kept off a lease, so that trust ends here before the lease does at the server: a hundredth, for
// the difference between the two clocks' rates, at least 10 ms, and of very short leases no more than half.
func Margin(lease time.Duration) time.Duration {
	return min(max(10*time.Millisecond, lease/100), lease/2)
}
