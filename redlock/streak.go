package redlock

import (
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/quorum"
)

// The goroutines of one process that want the lock wait in one queue, and hand it on to one another without a command; see
// quorum. What was granted moves as it is. A server that grants it later joins the hold that the lock has gone to.

var _ quorum.Taker = (*call)(nil)

// cohort is where the call's hold is handed on.
func (c *call) cohort(alone bool) *quorum.Cohort {
	to := &quorum.Cohort{Registry: &c.lock.nodes[0].base.Session.Cohorts, Key: c.lock.line}
	for _, base := range c.lock.bases {
		to.Longest = max(to.Longest, base.Streak(alone))
	}
	return to
}

// Terms are those of the call's hold.
func (c *call) Terms() quorum.Terms {
	return quorum.Terms{Noun: noun, Name: c.lock.name, Need: c.lock.need, Slack: slack(c.set.FirstLease()), Set: &c.set}
}

// Poll is how long the call sleeps when it expects to be given the lock.
func (c *call) Poll() time.Duration { return cohort.Bound(-1, c.set.Poll) }

// Inherit takes over what a hold of this process stands on.
func (c *call) Inherit(members []quorum.Member, fresh time.Duration) []quorum.Member {
	return quorum.Heirs(members, baselock.Bequeath(quorum.Holds(members), c.lock.bases, c.member, fresh))
}
