package watchdog

import "time"

// An instant is a moment of the monotonic clock in nanoseconds since epoch, so that it fits an atomic and a heap entry.
// On the fake clock of a test it may be negative.
type instant int64

// never is later than all else and small enough that differences between instants do not overflow.
const never instant = 1 << 62

// epoch carries a monotonic reading, and so do the times made from it.
var epoch = time.Now()

// clock reads the monotonic clock.
func clock() instant { return instant(time.Since(epoch)) }

func instantOf(t time.Time) instant {
	return max(-never, min(instant(t.Sub(epoch)), never))
}

func (i instant) time() time.Time { return epoch.Add(time.Duration(i)) }

// A Moment is a time of the monotonic clock in a third of the room that a time.Time takes. Like all that the watchdog is
// given it is counted from epoch: on the fake clock of a test, times made by way of another one would be off by what the
// two real clocks differ.
type Moment instant

// MomentOf is the moment of t.
func MomentOf(t time.Time) Moment { return Moment(instantOf(t)) }

// Time is the moment as a time.
func (m Moment) Time() time.Time { return instant(m).time() }
