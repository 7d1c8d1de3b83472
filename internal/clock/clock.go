// Package clock notices that the system was suspended. Go's monotonic clock stands still meanwhile on Linux
// and macOS, and a lease at the server does not.
//
// Times stay what time.Now says, so they compare and subtract as ever. A moment from before a suspension lies
// further back than its monotonic reading says: Aged puts it where it belongs, and Moment is a reading that
// counts the suspensions. Whoever takes a time from which trust is to count takes it from Now, or a
// suspension that was over before could be mistaken for one that came after, which ends trust too soon.
package clock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// epoch carries a monotonic reading, and so do the times made from it.
var epoch = time.Now()

// A jump is what is known once a suspension was noticed: up to at the system had been suspended for total in
// all.
type jump struct {
	at    time.Duration // since epoch, by the monotonic clock
	total time.Duration
}

// mostJumps is how many suspensions are told apart. Before the oldest of them none is taken to have ended.
const mostJumps = 64

var (
	mu    lockorder.Mutex[lockorder.Clock]
	jumps atomic.Pointer[[]jump] // the oldest first; nil until the system was suspended
	seen  atomic.Int64           // by how much the wall clock was ahead of the monotonic one when it was last measured
	fake  atomic.Pointer[func() time.Duration]
)

// resolution is the least suspension that is noticed.
const resolution = time.Millisecond

// Now is time.Now, and notices a suspension that was over before. It costs no more than time.Now while the
// distance of the wall clock and the monotonic one stays what it was: a suspension changes it, and so does
// the setting of the wall clock, after which the system is asked.
func Now() time.Time {
	if fake.Load() != nil {
		return notice()
	}
	var ahead int64
	for range 2 { // the two clocks may be read far apart if the processor is taken away in between
		now := time.Now()
		wall := now.UnixNano()
		ahead = wall - int64(now.Sub(epoch))
		if off := ahead - seen.Load(); off < int64(resolution) && off > -int64(resolution) || wall < bubble {
			return now
		}
	}
	seen.Store(ahead)
	return notice()
}

// bubble is a moment before which no real clock is, but the fake one of testing/synctest, which is never
// suspended.
var bubble = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// notice asks how long the system was suspended in all. The time is taken after that, so what lies after it
// lies after the suspension; what lies before it is taken to lie before.
func notice() time.Time {
	mu.Lock()
	defer mu.Unlock()
	total := measure()
	now := time.Now()
	if total-Suspended() >= resolution {
		var known []jump
		if old := jumps.Load(); old != nil {
			known = append(known, (*old)[max(0, len(*old)+1-mostJumps):]...)
		}
		known = append(known, jump{now.Sub(epoch), total})
		jumps.Store(&known)
	}
	return now
}

func measure() time.Duration {
	if f := fake.Load(); f != nil {
		return (*f)()
	}
	return suspended() - before
}

// before is for how long the system had been suspended when the process began.
var before = suspended()

// Suspended is for how long the system was suspended in all, as far as was noticed.
func Suspended() time.Duration {
	known := jumps.Load()
	if known == nil {
		return 0
	}
	return (*known)[len(*known)-1].total
}

// at is what Suspended was at a moment.
func at(t time.Time) (total time.Duration) {
	known := jumps.Load()
	if known == nil {
		return 0
	}
	for _, j := range *known {
		if t.Sub(epoch) < j.at {
			break
		}
		total = j.total
	}
	return total
}

// Aged is t as a time that is as long ago as it was, suspensions included.
func Aged(t time.Time) time.Time {
	if jumps.Load() == nil {
		return t
	}
	return t.Add(at(t) - Suspended())
}

// Stops tells whether there may be suspensions here that only Now notices.
func Stops() bool {
	return fake.Load() != nil || counts && time.Now().UnixNano() >= bubble
}

// Fake has tests say for how long the system was suspended in all, until restore is called.
func Fake(total func() time.Duration) (restore func()) {
	fake.Store(&total)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		fake.Store(nil)
		jumps.Store(nil)
	}
}

// Sleep returns after d, or with the error of ctx when that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
