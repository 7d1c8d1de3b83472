package watchdog

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
)

// An instant is a moment in nanoseconds since epoch by a clock that counts the time for which the system was
// suspended, where there is one, so that it fits an atomic and a heap entry. On the fake clock of a test it
// may be negative.
type instant int64

// never is later than all else and small enough that differences between instants do not overflow.
const never instant = 1 << 62

// epoch carries a monotonic reading, and so do the times made from it.
var epoch = time.Now()

// read reads the clock.
func read() instant { return instantOf(clock.Now()) }

// instantOf takes t as it is understood now: a time from before a suspension has to be aged before a lease is
// added.
func instantOf(t time.Time) instant {
	return max(-never, min(instant(t.Sub(epoch)+clock.Suspended()), never))
}

func (i instant) time() time.Time { return epoch.Add(time.Duration(i) - clock.Suspended()) }

// A Moment is a time of the monotonic clock in a third of the room that a time.Time takes. Like all that the
// watchdog is given it is counted from epoch: on the fake clock of a test, times made by way of another one
// would be off by what the two real clocks differ.
type Moment instant

// MomentOf is the moment of t, which may be from before a suspension.
func MomentOf(t time.Time) Moment { return Moment(instantOf(clock.Aged(t))) }

// Time is the moment as a time.
func (m Moment) Time() time.Time { return instant(m).time() }

// Margin is what is kept off a lease, so that trust ends here before the lease does at the server: a
// hundredth, for the difference between the two clocks' rates, and 2 ms, in which the servers of a redlock
// tell the time; at least 10 ms, and of very short leases no more than half.
func Margin(lease time.Duration) time.Duration {
	return min(max(10*time.Millisecond, lease/100+2*time.Millisecond), lease/2)
}

// Trusted is up to when a lease is trusted that was asked for at a moment of clock.Now.
func Trusted(sent time.Time, lease time.Duration) time.Time {
	return clock.Aged(sent).Add(lease - Margin(lease))
}
