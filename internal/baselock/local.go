package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Within a process a lock can go from hold to hold without a command: to the server the process has it,
// whichever of its goroutines works. The successor has the identity and the trust of the owner before it, and
// its renewal goes on. So the successor needs the same terms, and no command of the owner before it may be in
// doubt: what is executed late would be executed on the successor.
//
// Nor may the lock have been taken away, as far as this process can know without asking: see [owner.fresh].
// Where that is not certain a script hands the lock over, and finds out.

var _ cohort.Giver = (*owner)(nil)

// Mark is the mark by which the cohort knows the owner as a holder.
func (o *owner) Mark() *cohort.Holder { return &o.post }

// Streak is the streak of o. If no hand-off has made o the holder, the streak begins with o.
func (o *owner) Streak() *cohort.Streak {
	if o.streak == nil {
		o.streak = o.base.beginsWith(o.first.since)
	}
	return o.streak
}

// beginsWith is a streak that begins with a hold since then.
func (b *Base) beginsWith(since watchdog.Moment) *cohort.Streak {
	at := since.Time()
	return b.begins(cohort.Streak{Began: at, News: at})
}

// lockStreak is Streak for an owner that others may join. The caller unlocks o.mu. If the owner is not the
// caller's, and no call may join it, the answer is nil: before the owner holds no streak has begun, and with
// its last hold the streak is the releaser's, who reads and writes it without the mutex.
func (o *owner) lockStreak(mine bool) *cohort.Streak {
	o.mu.Lock()
	if (mine || o.shared.Open()) && o.streak == nil {
		since := o.first.since
		o.mu.Unlock()
		own := o.base.beginsWith(since)
		o.mu.Lock()
		if (mine || o.shared.Open()) && o.streak == nil { // no other call was faster
			o.streak = own
		}
	}
	if !mine && !o.shared.Open() {
		return nil
	}
	return o.streak
}

// begins makes a streak of holders of b that begins as s says. It is called without a mutex: a cluster client
// may ask its servers where the lock is.
func (b *Base) begins(s cohort.Streak) *cohort.Streak {
	s.Trip = b.Session.Dispatch.Trip(b.Key)
	return &s
}

// fresh tells whether the lock may be handed on without a command, as far as it is known that Redis still
// names this owner. A message on the lock's channel ends that, for it may be that of a force-unlock. Where no
// message tells, as of a deletion, or of anything that happens to a lock without a channel, the age of the
// news does.
func (o *owner) fresh(line *cohort.Cohort) bool {
	return o.recent(o.streak) && (o.base.channel == "" || line.Current(o.streak.News))
}

// recent tells whether the news of a streak of the owner's lock is young enough, and this process has not
// taken any lock away since.
func (o *owner) recent(s *cohort.Streak) bool {
	return s.Fresh(clock.Now()) && !o.base.Session.Cohorts.Taken(s.News)
}

// suits tells whether successor can have what o has, as it is.
func (o *owner) suits(successor *owner) bool {
	mine := o.set
	if !o.movable() || !successor.movable() || mine.WatchdogTimeout != successor.set.WatchdogTimeout {
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
	// More than the watchdog's lease was promised to one hold, by Extend or a re-entry, and would outlast the
	// successor's death.
	return left >= min(mine.WatchdogTimeout, passLease)/2 && left <= mine.WatchdogTimeout
}

// movable tells whether the owner can be a successor and have one, as far as that is its own to say.
func (o *owner) movable() bool {
	// The acquiring script withdraws a preferred writer's announcement, and a local hand-off runs no script.
	return !o.set.Scripted && o.set.Lease == 0 && o.set.MaxHold == 0 && !o.set.PreferWriters
}

// HandOn has the waiter next hold as the same owner, if it can.
func (o *owner) HandOn(in *cohort.Cohort, next any) (given any, poll time.Duration) {
	to := next.(*owner)
	if side := o.base.Kind.side(); side.Shared || side != to.base.Kind.side() || !o.fresh(in) || !o.suits(to) {
		return nil, 0
	}
	return o.follow(to), to.base.poll(to.set)
}

// follow has a waiter hold as o. From now on the streak is the successor's.
func (o *owner) follow(to *owner) *hold {
	successor := newOwnerAs(to.base, to.set, o.id)
	o.streak.Given++
	successor.most, successor.streak = o.most, o.streak
	h := successor.begin(time.Now(), o.ticket.TrustedUntil(), o.tokensOfSuccessor())
	h.path = local
	return h
}

// Missed has o go on as the holder: the waiter that was to follow has left.
func (o *owner) Missed(given any) cohort.Giver {
	o.base.Session.Watchdog.Forget(&given.(*hold).owner.ticket)
	o.announce()
	return o
}
