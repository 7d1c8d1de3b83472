package redlock

import (
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/quorum"
)

// The goroutines of one process that want the lock wait in one local queue, and hand it on to one another without a command;
// see quorum. The grants of the servers go from hold to hold as they are. A server that grants the lock later joins the hold
// that has it by then.

var _ quorum.Taker = (*call)(nil)

// cohort is the cohort within which the call's hold is handed on. alone: see round.
func (c *call) cohort(alone bool) *quorum.Cohort {
	return &quorum.Cohort{
		Registry: &c.lock.nodes[0].base.Session.Cohorts, Key: c.lock.line, Streak: baselock.Streak(c.lock.bases, alone),
	}
}

// Terms are the terms of the call's hold.
func (c *call) Terms() quorum.Terms {
	return quorum.Terms{Noun: noun, Name: c.lock.name, Need: c.lock.need, Slack: slack(c.set.FirstLease()), Set: &c.set}
}

// Poll is how long the call sleeps when it expects to be given the lock.
func (c *call) Poll() time.Duration { return cohort.Bound(-1, c.set.Poll) }

// TakeOver hands members, those of another hold of this process, on to the call. It returns the call's own members, or nothing
// where they cannot be handed on. The news of each of them has to be fresh in streak.
func (c *call) TakeOver(members []quorum.Member, streak cohort.Streak) []quorum.Member {
	return quorum.Successors(members, baselock.HandOn(quorum.Holds(members), c.lock.bases, c.member, streak))
}
