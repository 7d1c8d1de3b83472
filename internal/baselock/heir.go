package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
)

// Within a process a lock can go from hand to hand without a command: to the server the process has it, whichever of its
// goroutines works. The heir has the identity and the trust of the one before it, and what the watchdog does goes on. So
// it can only be somebody with the same terms, and nothing of the one before it may be in doubt: what is executed late
// would be executed on the heir.
//
// Nor may the lock have been taken away, as far as this process can know without asking: see [owner.fresh]. Where that is not
// certain a script hands the lock over, and finds out.

// canBequeath tells whether the claimed waiter in line can be o's heir.
func (o *owner) canBequeath(line *cohort.Cohort, claim cohort.Claim) bool {
	heir := claim.Who().(*owner)
	return o.fresh(line) && o.suits(heir)
}

// fresh tells whether the lock may be handed on without a command, as far as it is known that Redis still names this
// owner. A message on the lock's channel ends that, for it may be that of a force-unlock. Where no message tells, as of a
// deletion, or of anything that happens to a lock without a channel, the age of the news does.
func (o *owner) fresh(line *cohort.Cohort) bool {
	return o.streak.Fresh(clock.Now()) && (o.base.channel == "" || line.Current(o.streak.News))
}

// suits tells whether heir can have what o has, as it is.
func (o *owner) suits(heir *owner) bool {
	mine := o.set
	if !o.inherits() || !heir.inherits() || mine.WatchdogTimeout != heir.set.WatchdogTimeout {
		return false
	}
	o.mu.Lock()
	doubt := o.doubt != nil || o.guest != nil // a guest has the same identity
	poor := o.base.tokens != "" && o.spare == 0
	o.mu.Unlock()
	if doubt || poor {
		return false
	}
	now := clock.Now()
	left := o.ticket.TrustedUntil().Sub(now)
	// More than the watchdog's lease was promised to one hold, by Extend or a re-entry, and would outlast the heir's death.
	return left >= min(mine.WatchdogTimeout, passLease)/2 && left <= mine.WatchdogTimeout
}

// inherits tells whether the owner can be an heir and have one, as far as that is its own to say.
func (o *owner) inherits() bool {
	// The acquiring script withdraws a preferred writer's announcement, and a local hand-off runs no script.
	return !o.set.Scripted && o.set.Lease == 0 && o.set.MaxHold == 0 && !o.set.PreferWriters
}

// bequeath has the claimed waiter hold as the same owner. It reports whether the waiter was still there.
func (o *owner) bequeath(claim cohort.Claim) bool {
	next := claim.Who().(*owner)
	heir := newOwnerAs(next.base, next.set, o.id)
	heir.most, heir.streak = o.most, o.streak
	given := heir.begin(time.Now(), o.ticket.TrustedUntil(), o.inheritance())
	given.inherited = true
	o.streak.Given++ // from Give on the streak is the heir's
	if claim.Give(given, next.base.poll(next.set)) {
		return true
	}
	o.base.Session.Watchdog.Forget(&heir.ticket)
	o.announce()
	return false
}
