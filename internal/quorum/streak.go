package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/errs"
)

// An Unlock that finds a waiter of its own process hands all members on to it without a command, for a
// bounded time:
//
//	        claim, and every member may move
//	held ────────────────────────────────────► held by the waiter ── it has left meanwhile ──► handed on, or given back
//	  │
//	  └── the streak is over, or a member may not move ──► given back, and the first waiter asks
//
// A waiter does not ask while a hold of its process is in force. So a process makes one attempt at a time.
//
// After a streak the waiters leave the members to other processes for a moment. A streak that was one long
// section is no reason to: the waiter asks at once, beside those of other processes, until its process has
// had the members for longestKept.
const longestKept = 50 * time.Millisecond

// A Streak is the holds of one process that follow one another without a release in between.
type Streak struct {
	cohort.Streak

	current atomic.Pointer[Hold] // a member that was asked for earlier, and is granted now, is for this one
}

// Before is what the process knows of the time before an attempt that took the members at once.
type Before struct {
	Alone bool      // see [composite.Streak]
	Kept  time.Time // since when the process has had the members without leaving them to others; zero: it had not
}

// yield ends the claim of a release that is due, and says whether the waiter leaves the members to other
// processes first.
func (h *Hold) yield(due cohort.Release) {
	since := h.Streak().Shut()
	if h.local || clock.Now().Sub(clock.Aged(since)) >= longestKept {
		due.Cohort.CloseSince(time.Time{})
		due.Claim.Yield()
		return
	}
	due.Cohort.CloseSince(since)
	due.Claim.End()
}

// free has them ask, unless h was handed on.
func (h *Hold) free() {
	if h.streak != nil {
		h.call.registry().Free(h.call.Line, &h.holder, false)
	}
}

var _ cohort.Giver = (*Hold)(nil)

// Mark is that of a hold in its cohort.
func (h *Hold) Mark() *cohort.Holder { return &h.holder }

// Streak is that of the hold.
func (h *Hold) Streak() *cohort.Streak { return &h.streak.Streak }

// HandOn has the waiter next hold the members, if each can be handed on. h is retired, and no mutex is held: a
// member that was lost meanwhile asks Redis who has taken it, and tells observers.
func (h *Hold) HandOn(_ *cohort.Cohort, next any) (given any, poll time.Duration) {
	to := next.(*Call)
	members, _ := h.standsOn()
	successors, tell := composite.HandOn(members, to.Bases, to.Opts, h.streak.Streak)
	if successors == nil {
		return nil, 0
	}
	successor := to.Hold(time.Now(), successors, h.streak, h.late)
	successor.local = true
	tell()
	return successor, to.Poll()
}

// Missed has the members be given back by the hold that they have come to.
func (h *Hold) Missed(given any) cohort.Giver {
	next := given.(*Hold)
	next.retire(false)
	next.Ending().End(errs.Released)
	return next
}
