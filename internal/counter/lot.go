package counter

import (
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/scripts/lane"
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
	queue *cohort.Cohort

	wanted atomic.Int64              // permits that the calls in the queue want, whichever counters they are of
	size   atomic.Pointer[lane.Size] // of the semaphore, as a call in the queue has said that knows it; nil: none has

	mu          lockorder.Mutex[lockorder.Lot]
	streak      cohort.Streak // the lot is young while its news is fresh; zero: there are no permits
	closedUntil time.Time     // until then all permits go back, for outsiders, which take longer to ask
}

// forOutsiders is for how long no permit moves after an outsider was seen to listen. An outsider is a client
// that is not of this library.
const forOutsiders = 100 * time.Millisecond

// newLot makes the lot of a local queue. The queue keeps it, so both end when the last waiter has left.
func newLot(queue *cohort.Cohort) any { return &lot{queue: queue} }

// lotOf is the lot of a local queue, nil where permits do not move.
func lotOf(queue *cohort.Cohort) *lot {
	l, _ := queue.Own.(*lot)
	return l
}

// want notes that a call in the queue wants n permits, until over is called. The head asks for all of the
// queue, so it has to know the size where a call behind it does.
func (c *Counter) want(queue *cohort.Cohort, n int64) (over func()) {
	l := lotOf(queue)
	if l == nil {
		return func() {}
	}
	l.wanted.Add(n)
	if c.Size != nil {
		l.size.Store(c.Size)
		if missing(queue.Found()) {
			queue.Wake()
		}
	}
	return func() { l.wanted.Add(-n) }
}

// closed tells whether no permit moves for now, because an outsider listens.
func (l *lot) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return clock.Now().Before(l.closedUntil)
}

// lot is the lot of the counter. It is nil while no call of this process waits.
func (c *Counter) lot() *lot {
	if queue := c.Session.Cohorts.Find(c.localQueue); queue != nil {
		return lotOf(queue)
	}
	return nil
}

// youngLocked tells whether permits of the lot may move without a command.
func (l *lot) youngLocked() bool {
	now := clock.Now()
	return l.streak.Fresh(now) && !now.Before(l.closedUntil)
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
