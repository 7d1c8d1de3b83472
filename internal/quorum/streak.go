package quorum

import (
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// An Unlock that finds a waiter of its own process hands all members on to it without a command, for a bounded time:
//
//	        claim, and every member may move
//	held ────────────────────────────────────► held by the waiter ── it has left meanwhile ──► handed on, or given back
//	  │
//	  └── the streak is over, or a member may not move ──► given back, and the first waiter asks
//
// A waiter does not ask while a hold of its process is in force. So a process makes one attempt at a time.

// A Cohort is where the calls of this process wait for the composite.
type Cohort struct {
	Registry *cohort.Registry
	Key      cohort.Key
	Streak   cohort.Streak // of the holds that follow one another
}

// A Taker is a call that waits in a cohort.
type Taker interface {
	// Inherit ends the members and answers others in their place; nothing, and it ends none, where that is impossible.
	Inherit(members []Member, streak cohort.Streak) (heirs []Member)

	// Terms are those of the call's hold.
	Terms() Terms

	// Poll is how long a waiter sleeps that expects to be given the lock.
	Poll() time.Duration
}

// A streak is the holds of one process that follow one another without a release in between.
type streak struct {
	cohort Cohort

	mu      sync.Mutex // before Hold.mu
	current *Hold      // a member that was asked for earlier, and is granted now, is for this one
}

// announce has the calls of this process wait for what h does.
func (h *Hold) announce() {
	c := h.streak.cohort
	h.holder = cohort.Holder{Since: watchdog.MomentOf(h.since), Gives: true}
	c.Registry.Hold(c.Key, &h.holder)
}

// free has them ask, unless h was handed on.
func (h *Hold) free() {
	if h.streak != nil {
		h.streak.cohort.Registry.Free(h.streak.cohort.Key, &h.holder, false)
	}
}

// handOn gives the members to the first waiter. h is retired. It answers the hold whose members are to be given back, nil
// if somebody has them.
func (h *Hold) handOn() (rest *Hold) {
	if h.streak == nil {
		return h
	}
	for {
		next, given := h.handOnce()
		switch {
		case given:
			return nil
		case next == nil:
			return h
		}
		next.mu.Lock() // the waiter had left
		next.retired, next.given = true, true
		if next.timer != nil {
			next.timer.Stop()
		}
		next.mu.Unlock()
		next.ending.End(errs.Released)
		h = next
	}
}

// handOnce makes one attempt. It answers the hold that it has made, also when the waiter had left.
func (h *Hold) handOnce() (next *Hold, given bool) {
	s := h.streak
	_, claim, ok := s.cohort.Registry.Claim(s.cohort.Key, &h.holder)
	if !ok {
		return nil, false
	}
	if s.cohort.Streak.Over(clock.Now()) {
		claim.Yield()
		return nil, false
	}
	claimed := true
	defer func() { // an observer of a member may panic
		if claimed {
			claim.End()
		}
	}()
	taker := claim.Who().(Taker)
	s.mu.Lock()
	defer s.mu.Unlock()
	h.mu.Lock()
	members := slices.Clone(h.members)
	h.mu.Unlock()
	heirs := taker.Inherit(members, s.cohort.Streak)
	if heirs == nil {
		return nil, false
	}
	next = &Hold{terms: taker.Terms(), since: time.Now(), members: heirs, streak: s, inherited: true}
	next.terms.Late = h.terms.Late
	s.current = next
	next.begin()
	claimed = false
	return next, claim.Give(next, taker.Poll())
}

// Holds are the holds of the members.
func Holds(members []Member) (of []holds.Hold) {
	for _, m := range members {
		of = append(of, m.Hold)
	}
	return of
}

// Heirs are members with other holds in their place; nothing where there are none.
func Heirs(members []Member, of []holds.Hold) (heirs []Member) {
	for i, h := range of {
		heirs = append(heirs, Member{members[i].Name, h})
	}
	return heirs
}
