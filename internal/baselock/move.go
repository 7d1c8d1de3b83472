package baselock

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
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
// The entry of the watchdog, the mark in the local queue, the streak, the doubt and the loss are the
// tenure's, and stay where they are. A move is made under the send lock and the mutex. So no command of the
// tenant before is under way, and none that it has sent may be executed late: a tenure that was ever in doubt
// is not moved.
//
// Nor may the lock have been taken away, as far as this process can know without asking: see [Tenure.Fresh].
// Where that is not certain a script hands the lock over, and finds out.

// FitsLocked tells whether a call with these settings can have the tenure as it is. The caller has the send
// lock.
func (t *Tenure) FitsLocked(set *settings.Settings) bool {
	mine, longest := t.Tenant.Set, set.WatchdogTimeout
	left := t.Entry.TrustedUntil().Sub(clock.Now()) // none where the watchdog has found a loss that is not told yet
	return Movable(mine) && Movable(set) && mine.WatchdogTimeout == longest &&
		!t.forgotten && t.LostLocked() == nil && t.rare.doubt == nil &&
		t.rare.guest == nil && // which has the same identity
		(t.Base.tokens == "" || t.Spare > 0) &&
		// More than the watchdog's lease was promised to one hold, by Extend or a re-entry, and would outlast
		// the death of the next tenant.
		left >= min(longest, PassLease)/2 && left <= longest
}

// Movable tells whether a tenant with these settings can have a tenure that was moved, and leave one to
// another tenant.
func Movable(set *settings.Settings) bool {
	// The acquiring script withdraws a preferred writer's announcement, and a move runs no script.
	return !set.Scripted && set.Lease == 0 && set.MaxHold == 0 && !set.PreferWriters
}

// moveLocked has a call with these settings be the next tenant. Of the one before no hold is left.
func (t *Tenure) moveLocked(set *settings.Settings) *Hold {
	before := t.Tenant
	before.until = watchdog.MomentOf(t.Entry.TrustedUntil())
	c := &Tenant{Tenure: t, Set: set, Live: 1}
	if t.Base.tokens != "" {
		c.Token, t.Spare = before.Token+1, t.Spare-1
	}
	c.first = Hold{Tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(time.Now())}, Renewed: true, Path: Local}
	t.Tenant = c
	if !t.renewing {
		t.renewing = true
		t.agreeLocked(t.Entry.TrustedUntil())
	}
	return &c.first
}

// Move has a call with these settings be the next tenant, if it fits.
func (t *Tenure) Move(next *settings.Settings) *Hold {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !t.FitsLocked(next) {
		return nil
	}
	t.Streak.Given++
	return t.moveLocked(next)
}

// Vacate leaves the tenure without a live hold: the waiter that it was moved to has left before it was told.
func (t *Tenure) Vacate() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.Tenant.first.released, t.Tenant.Live = true, 0
}

// SoleLocked tells whether h is all that there is of its tenure.
func (h *Hold) SoleLocked() bool {
	c := h.Tenant
	return h == &c.first && c.Live == 1 && c.Tenure.LostLocked() == nil && !h.released && !h.dropped && !h.over &&
		h.limit.Load() == nil
}

// MoveTo ends h, with no command, and has a call with these settings be the next tenant. A loss that came in
// between moves too: the composite hears of it.
func (h *Hold) MoveTo(set *settings.Settings) *Hold {
	h.Retire()
	h.Ending().End(errs.Released)
	t := h.Tenant.Tenure
	t.Mu.Lock()
	h.Tenant.Live = 0
	next, lost := t.moveLocked(set), t.LostLocked()
	t.Mu.Unlock()
	if lost != nil {
		next.Ending().End(lost)
	}
	return next
}

// Begins makes a streak of tenures of b that begins as s says. It is called without a mutex: a cluster client
// may ask its servers where the lock is.
func (b *Base) Begins(s cohort.Streak) *cohort.Streak {
	s.Trip = b.Session.Dispatch.Trip(b.Key)
	return &s
}

// LockStreak is OwnStreak for a tenure that other calls may join. The caller unlocks t.Mu. mine says that the
// caller has the tenure. For another caller the answer is nil while no call may join: no streak has begun
// before the tenure is held, and after its last hold the release reads and writes the streak without the
// mutex.
func (t *Tenure) LockStreak(mine bool) *cohort.Streak {
	t.Mu.Lock()
	if (mine || t.Shared.Open()) && t.Streak == nil {
		t.Mu.Unlock()
		own := t.beginsWith()
		t.Mu.Lock()
		if (mine || t.Shared.Open()) && t.Streak == nil { // no other call was faster
			t.Streak = own
		}
	}
	if !mine && !t.Shared.Open() {
		return nil
	}
	return t.Streak
}

// beginsWith is a streak that begins with the tenure.
func (t *Tenure) beginsWith() *cohort.Streak {
	at := t.First.first.Since.Time()
	return t.Base.Begins(cohort.Streak{Began: at, News: at})
}

// Fresh tells whether the lock may be handed on without a command, as far as it is known that Redis still
// names this owner. A message on the lock's channel ends that, for it may be that of a force-unlock. Where no
// message tells, as of a deletion, or of anything that happens to a lock without a channel, the age of the
// news does.
func (t *Tenure) Fresh(line *cohort.Cohort) bool {
	return t.Recent(t.Streak) && (t.Base.Channel == "" || line.Current(t.Streak.News))
}

// Recent tells whether the news of a streak of the tenure's lock is young enough, and this process has not
// taken any lock away since.
func (t *Tenure) Recent(s *cohort.Streak) bool {
	return s.Fresh(clock.Now()) && !t.Base.Session.Cohorts.Taken(s.News)
}

// OwnStreak is the streak of t, for a caller that has the tenure. If no hand-off by a command has begun t,
// the streak begins with it.
func (t *Tenure) OwnStreak() *cohort.Streak {
	if t.Streak == nil {
		t.Streak = t.beginsWith()
	}
	return t.Streak
}
