package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/waiting"
)

// Within a process a lock can go from hand to hand without a command: to the server the process has it, whichever of its
// goroutines works. The heir has the identity and the trust of the one before it, and what the watchdog does goes on. So
// it can only be somebody with the same terms, and nothing of the one before it may be in doubt: what is executed late
// would be executed on the heir.
//
// Nor may the lock have been taken away, as far as this process can know without asking: see [run.fresh]. Where that is not
// certain a script hands the lock over, and finds out.

// canBequeath tells whether the claimed waiter in line can be o's heir.
func (o *owner) canBequeath(line *session.Line, claim waiting.Claim) bool {
	heir := claim.Who().(*owner)
	mine, its := o.set, heir.set
	if !o.base.Kind.Local || mine.Scripted || its.Scripted || !o.fresh(line) ||
		mine.Lease != 0 || its.Lease != 0 || mine.MaxHold != 0 || its.MaxHold != 0 ||
		mine.WatchdogTimeout != its.WatchdogTimeout {
		return false
	}
	// The acquiring script withdraws a preferred writer's announcement, and a local hand-off runs no script.
	if mine.PreferWriters || its.PreferWriters {
		return false
	}
	o.mu.Lock()
	doubt := o.doubt != nil || o.guest != nil // a guest has the same identity
	o.mu.Unlock()
	now := clock.Now()
	left := o.ticket.TrustedUntil().Sub(now)
	// More than the watchdog's lease was promised to one hold, by Extend or a re-entry, and would outlast the heir's death.
	return !doubt && left >= min(mine.WatchdogTimeout, passLease)/2 && left <= mine.WatchdogTimeout
}

// bequeath has the claimed waiter hold as the same owner. It reports whether the waiter was still there.
func (o *owner) bequeath(claim waiting.Claim) bool {
	next := claim.Who().(*owner)
	heir := newOwnerAs(next.base, next.set, o.id)
	heir.most, heir.run = o.most, o.run
	given := heir.begin(time.Now(), o.ticket.TrustedUntil(), 0)
	given.inherited = true
	if claim.Give(given, next.base.poll(next.set)) {
		return true
	}
	o.base.Session.Watchdog.Forget(&heir.ticket)
	o.announce()
	return false
}
