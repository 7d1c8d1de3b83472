package cohort

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/raise"
)

// A Giver is a holder of this process that gives back what a cohort is for.
type Giver interface {
	// Mark is what was registered with [Registry.Hold].
	Mark() *Holder

	// Streak is the one that the giver is in.
	Streak() *Streak

	// HandOn has the claimed waiter hold in the giver's place, without a command. next is its [Request.Who].
	// grant is what the waiter gets, and poll for how long the one behind it sleeps that expects to be next.
	// A nil grant says that the waiter cannot have it as it is.
	HandOn(c *Cohort, next any) (grant any, poll time.Duration)

	// Missed follows HandOn where the waiter had left. It returns the giver that goes on then; nil says that
	// the grant finds its way by itself.
	Missed(grant any) Giver
}

// A Release is what a giver has to do when it gives back.
type Release struct {
	Step   Step
	Giver  Giver   // the one that gives back
	Cohort *Cohort // with Due and Unfit
	Claim  Claim   // with Due and Unfit, and to be ended
}

// A Step is the first that is possible of those by which a release goes on.
type Step int

const (
	Unclaimed Step = iota // no waiter of this process can be given it: other processes may have it
	Given                 // the first waiter holds, by a local hand-off, and nothing is left to do
	Unfit                 // the claimed waiter cannot have it as it is, but perhaps by a command
	Due                   // the streak is over: other processes come first, then the claimed waiter
)

// Release decides for g, a holder of key, and makes a local hand-off where that is possible.
//
//	                       no                     no                        yes
//	a waiter to be claimed? ─► Unclaimed   streak over? ─► HandOn ─► grant? ────► Given, unless the waiter has left: again
//	  │ yes                                  │ yes                   │ no
//	  └──────────────────────────────────────┴──► Due                └──► Unfit
func (r *Registry) Release(key Key, g Giver) Release {
	for {
		c, claim, ok := r.Claim(key, g.Mark())
		switch {
		case !ok:
			return Release{Step: Unclaimed, Giver: g}
		case g.Streak().Over(clock.Now()):
			c.Given.Store(int64(g.Streak().Given))
			return Release{Due, g, c, claim}
		}
		grant, poll := handOn(g, c, claim)
		if grant == nil {
			return Release{Unfit, g, c, claim}
		}
		if claim.Give(grant, poll) {
			return Release{Step: Given}
		}
		if g = g.Missed(grant); g == nil {
			return Release{Step: Given}
		}
	}
}

// handOn ends the claim if the giver panics, as an observer of the program may.
func handOn(g Giver, c *Cohort, claim Claim) (grant any, poll time.Duration) {
	returned := false
	defer raise.Unless(&returned, claim.End)
	grant, poll = g.HandOn(c, claim.Who())
	returned = true
	return grant, poll
}
