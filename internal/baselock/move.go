package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Within a process a tenure goes from tenant to tenant without a command: to the server the process has the
// lock, whichever of its goroutines works. That is a move.
//
//	         move: the next tenant has it
//	             ┌──┐
//	grant ──► held ◄┘──── last Unlock, and no move ────► released
//	           │ ▲ │
//	           │ │ └──► kept: all its holds were dropped or are over; it lasts, and no other tenant gets it
//	           ▼ │
//	          vacant: the waiter had left, and the release goes on; another one may have it
//
// The entry of the watchdog, the mark in the local queue, the streak, the doubt and the loss are the tenure's, and
// stay where they are. A move is made under the send lock and the mutex. So no command of the tenant before is
// under way, and none that it has sent may be executed late: a tenure that was ever in doubt is not moved.
//
// Nor may the lock have been taken away, as far as this process can know without asking: see [tenure.fresh].
// Where that is not certain a script hands the lock over, and finds out.

// fitsLocked tells whether a call with these settings can have the tenure as it is. The caller has the send
// lock.
func (t *tenure) fitsLocked(set *settings.Settings) bool {
	mine, longest := t.tenant.set, set.WatchdogTimeout
	left := t.entry.TrustedUntil().Sub(clock.Now()) // none where the watchdog has found a loss that is not told yet
	return movable(mine) && movable(set) && mine.WatchdogTimeout == longest &&
		!t.forgotten && t.lostLocked() == nil && t.rare.doubt == nil &&
		t.rare.guest == nil && // which has the same identity
		(t.base.tokens == "" || t.spare > 0) &&
		// More than the watchdog's lease was promised to one hold, by Extend or a re-entry, and would outlast the
		// death of the next tenant.
		left >= min(longest, passLease)/2 && left <= longest
}

// movable tells whether a tenant with these settings can have a tenure that was moved, and leave one to
// another tenant.
func movable(set *settings.Settings) bool {
	// The acquiring script withdraws a preferred writer's announcement, and a move runs no script.
	return !set.Scripted && set.Lease == 0 && set.MaxHold == 0 && !set.PreferWriters
}

// moveLocked has a call with these settings be the next tenant. Of the one before no hold is left.
func (t *tenure) moveLocked(set *settings.Settings) *hold {
	before := t.tenant
	before.until = watchdog.MomentOf(t.entry.TrustedUntil())
	c := &tenant{tenure: t, set: set, live: 1}
	if t.base.tokens != "" {
		c.token, t.spare = before.token+1, t.spare-1
	}
	c.first = hold{tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(time.Now())}, renewed: true, path: local}
	t.tenant = c
	if !t.renewing {
		t.renewing = true
		t.agreeLocked(t.entry.TrustedUntil())
	}
	return &c.first
}

// move has the call be the next tenant, if it fits.
func (t *tenure) move(next *caller) *hold {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.fitsLocked(next.set) {
		return nil
	}
	t.streak.Given++
	return t.moveLocked(next.set)
}

var _ cohort.Giver = (*tenure)(nil)

// Mark is the mark by which the cohort knows the tenure.
func (t *tenure) Mark() *cohort.Holder { return &t.post }

// HandOn moves the tenure to the waiter next, if it can have it.
func (t *tenure) HandOn(in *cohort.Cohort, who any) (given any, poll time.Duration) {
	next := who.(*caller)
	if side := t.base.Kind.side(); side.Shared || side != next.Kind.side() || !t.fresh(in) {
		return nil, 0
	}
	if h := t.move(next); h != nil {
		return h, next.poll(next.set)
	}
	return nil, 0
}

// Missed makes the tenure vacant: the waiter that has it now has left.
func (t *tenure) Missed(any) cohort.Giver {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tenant.first.released, t.tenant.live = true, 0
	return t
}

// Streak is the streak of t. If no hand-off by a command has begun t, the streak begins with it.
func (t *tenure) Streak() *cohort.Streak {
	if t.streak == nil {
		t.streak = t.beginsWith()
	}
	return t.streak
}

// beginsWith is a streak that begins with the tenure.
func (t *tenure) beginsWith() *cohort.Streak {
	at := t.first.first.Since.Time()
	return t.base.begins(cohort.Streak{Began: at, News: at})
}

// lockStreak is Streak for a tenure that other calls may join. The caller unlocks t.mu. mine says that the
// caller has the tenure. For another caller the answer is nil while no call may join: no streak has begun before
// the tenure is held, and after its last hold the release reads and writes the streak without the mutex.
func (t *tenure) lockStreak(mine bool) *cohort.Streak {
	t.mu.Lock()
	if (mine || t.shared.Open()) && t.streak == nil {
		t.mu.Unlock()
		own := t.beginsWith()
		t.mu.Lock()
		if (mine || t.shared.Open()) && t.streak == nil { // no other call was faster
			t.streak = own
		}
	}
	if !mine && !t.shared.Open() {
		return nil
	}
	return t.streak
}

// begins makes a streak of tenures of b that begins as s says. It is called without a mutex: a cluster client
// may ask its servers where the lock is.
func (b *Base) begins(s cohort.Streak) *cohort.Streak {
	s.Trip = b.Session.Dispatch.Trip(b.Key)
	return &s
}

// fresh tells whether the lock may be handed on without a command, as far as it is known that Redis still
// names this owner. A message on the lock's channel ends that, for it may be that of a force-unlock. Where no
// message tells, as of a deletion, or of anything that happens to a lock without a channel, the age of the
// news does.
func (t *tenure) fresh(line *cohort.Cohort) bool {
	return t.recent(t.streak) && (t.base.channel == "" || line.Current(t.streak.News))
}

// recent tells whether the news of a streak of the tenure's lock is young enough, and this process has not
// taken any lock away since.
func (t *tenure) recent(s *cohort.Streak) bool {
	return s.Fresh(clock.Now()) && !t.base.Session.Cohorts.Taken(s.News)
}
