package counter

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// A lot is the permits that this process has got from Redis, as one: it says since when Redis was not asked.
// A release that finds a waiter of its process moves permits to it without a command while the lot is young:
// to Redis they stay taken. How many there are does not matter, for a move leaves in Redis what a release and
// an acquisition would. There is a lot for as long as a call waits.
//
//	          acquired: asked anew, if the lot is old          released, and a call waits
//	no lot ──────────────────────────────────────────► young ───────────────────────────────► moved
//	   ▲                                                 │  ▲
//	   │ given back: others wait, or fewer than          ▼  │ kept: no other process waits
//	   │ no permits are left, or no semaphore is there  old ┘
//	   └─────────────────────────────────────────────────┘
//
// Permits that join a young lot have its age from then on. When the lot is old, the process asks Redis. So it
// learns at the latest then what no message tells: that the semaphore is gone, that permits were taken from
// it for good, or that another process waits.
type lot struct {
	line *cohort.Cohort

	wanted atomic.Int64              // permits that the calls in the line want, whichever counters they are of
	size   atomic.Pointer[lane.Size] // of the semaphore, as a call in the line has said that knows it; nil: none has

	mu     lockorder.Mutex[lockorder.Lot]
	streak cohort.Streak // the lot is young while its news is fresh; zero: there are no permits
	closed time.Time     // until then all permits go back, for those who take longer to ask
}

// forOutsiders is for how long no permit moves after an outsider was seen to listen. An outsider is a client
// that is not of this library.
const forOutsiders = 100 * time.Millisecond

// newLot makes the lot of a cohort. The cohort keeps it, so both end when the last waiter has left.
func newLot(line *cohort.Cohort) any { return &lot{line: line} }

// lotOf is the lot of a line, nil where permits do not move.
func lotOf(line *cohort.Cohort) *lot {
	l, _ := line.Own.(*lot)
	return l
}

// want notes that a call in the line wants n permits, until left is called. The head asks for all of the line,
// so it has to know the size where a call behind it does.
func (c *Counter) want(line *cohort.Cohort, n int64) *lot {
	l := lotOf(line)
	if l == nil {
		return nil
	}
	l.wanted.Add(n)
	if c.Size != nil {
		l.size.Store(c.Size)
		if c.missing() {
			line.Wake()
		}
	}
	return l
}

// left is called when a call that wanted n has left the line.
func (l *lot) left(n int64) {
	if l != nil {
		l.wanted.Add(-n)
	}
}

// shut tells whether no permit moves for now, because an outsider listens.
func (l *lot) shut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return clock.Now().Before(l.closed)
}

// lot is the lot of the counter. It is nil while no call of this process waits.
func (c *Counter) lot() *lot {
	if line := c.Session.Cohorts.Find(c.line); line != nil {
		return lotOf(line)
	}
	return nil
}

// youngLocked tells whether permits of the lot may move without a command.
func (l *lot) youngLocked() bool {
	now := clock.Now()
	return l.streak.Fresh(now) && !now.Before(l.closed)
}

// took notes that Redis was asked at sent for permits that this process has got.
func (c *Counter) took(sent time.Time) {
	l := c.lot()
	if l == nil {
		return
	}
	s := c.streak(sent, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.youngLocked() {
		l.streak = s
	}
}

// streak is that of permits that Redis was asked for at sent. It is called without a mutex: a cluster client
// may ask its servers where the counter is.
func (c *Counter) streak(sent time.Time, alone bool) cohort.Streak {
	return cohort.Streak{News: sent, Alone: alone, Trip: c.Session.Dispatch.Trip(c.Key)}
}

// Keep asks whether n permits may move within the process, and moves them. keep gives them back if not, and
// yield does that when the outcome of keep is unknown. left are permits that are still the caller's: Redis
// lets the process have them, but no waiter is there any more, or there is an error.
func (c *Counter) Keep(ctx context.Context, n int64, keep, yield Build[int64]) (left int64, err error) {
	sent := time.Now()
	reply, err := giveBack(ctx, c, keep, yield)
	switch {
	case err != nil:
		return n, err
	case !c.Answered(reply, sent):
		return 0, nil
	}
	return c.MoveKept(n, nil), nil
}

// Answered takes note of what Redis answers that was asked at sent whether permits may move, and tells
// whether they may.
func (c *Counter) Answered(reply int64, sent time.Time) (kept bool) {
	kept = reply == row.Kept || reply == row.Renamed
	l := c.lot()
	if l == nil {
		return kept
	}
	var s cohort.Streak
	if reply == row.Kept {
		s = c.streak(sent, true)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch reply {
	case row.Renamed:
	case row.Kept: // and all others that this process has may move as well
		l.streak = s
	case row.Outsiders:
		l.streak, l.closed = cohort.Streak{}, time.Now().Add(forOutsiders)
	default:
		l.streak = cohort.Streak{}
	}
	return kept
}
