package baselock

import (
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// A composite hands its members on to the next of its own waiters as a single lock is handed on: each member's
// tenure is moved, and no command is sent. All members are moved, or none.
//
//	                   every tenure's send lock is free, and the next call fits every tenure
//	held by a composite ───────────────────────────────────────────────────────────► held by the next one
//	         │
//	         └── it does not fit one of them: all stay as they are, and the composite gives them back

// Streak is that of holds of composites of bases. alone says that the locks were free before although others
// had had the time to take them.
func Streak(bases []*Base, alone bool) cohort.Streak {
	s := cohort.Streak{Alone: alone}
	for _, b := range bases {
		s.Trip = max(s.Trip, b.Session.Dispatch.Trip(b.Key))
	}
	return s
}

// Meet returns the base of a lock, which must be of a type of this module, if a composite can hand it on;
// else nil.
func Meet(lock redlatch.Locker) *Base {
	base := Of(lock)
	if base == nil || !base.Kind.moves() {
		return nil
	}
	return base
}

// Offer has the releases of the members ask whether outsiders wait for them, because calls of this process
// wait behind the composite that is about to give them back.
func Offer(members []holds.Member) {
	for _, member := range members {
		if h, ok := member.Hold.(*hold); ok {
			t := h.tenant.tenure
			t.mu.Lock()
			h.tenant.offers = true
			t.mu.Unlock()
		}
	}
}

// HandOn moves the members of a composite to another one of this process, of which to are the bases and opts
// the options of the call. The news of each member has to be fresh in streak, the composite's. It answers
// nothing, and leaves everything as it is, where that is impossible. Else tell has the observers of the
// members know; the caller calls it without a mutex.
func HandOn(members []holds.Member, to []*Base, opts []redlatch.Option,
	streak cohort.Streak) (moved []holds.Member, tell func()) {
	next := make([]*settings.Settings, len(members))
	for i, member := range members {
		h, ok := member.Hold.(*hold)
		if !ok || !h.tenant.tenure.tryLockSend() {
			return nil, nil
		}
		defer h.tenant.tenure.unlockSend()
		if next[i] = h.fitsAmong(to, opts, streak); next[i] == nil {
			return nil, nil
		}
	}
	moved = slices.Clone(members)
	for i, member := range members {
		moved[i].Hold = member.Hold.(*hold).moveTo(next[i])
	}
	now := time.Now()
	return moved, func() {
		returned := false
		defer raise.Unless(&returned, func() { declineAll(moved) }) // an observer of a member may panic
		for i, member := range members {
			member.Hold.(*hold).Finish(context.Background(), redlatch.EventReleased, nil)
			moved[i].Hold.(*hold).tellOf(context.Background(), now)
		}
		returned = true
	}
}

// fitsAmong is the settings of a call with opts on the one of the bases to which the tenure of h may be moved;
// nil if there is none. The caller has the send lock.
func (h *hold) fitsAmong(to []*Base, opts []redlatch.Option, streak cohort.Streak) *settings.Settings {
	t, c := h.tenant.tenure, h.tenant
	i := slices.IndexFunc(to, func(b *Base) bool { return t.of(b, b.Kind.side().Name) })
	if i < 0 || !t.base.Kind.moves() {
		return nil
	}
	set, err := to[i].resolve(opts, false)
	own := t.Streak()
	streak.News, streak.Blur = own.News, own.Blur
	if err != nil || set.Replicas > 0 || c.set.AtLeast > 0 || !t.recent(&streak) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !h.soleLocked() || !t.fitsLocked(set) {
		return nil
	}
	return set
}

// soleLocked tells whether h is all that there is of its tenure.
func (h *hold) soleLocked() bool {
	c := h.tenant
	return h == &c.first && c.live == 1 && c.tenure.lostLocked() == nil && !h.released && !h.dropped && !h.over &&
		h.limit.Load() == nil
}

// moveTo ends h, with no command, and has a call with these settings be the next tenant. A loss that came in
// between moves too: the composite hears of it.
func (h *hold) moveTo(set *settings.Settings) *hold {
	h.retire()
	h.Ending().End(errs.Released)
	t := h.tenant.tenure
	t.mu.Lock()
	h.tenant.live = 0
	next, lost := t.moveLocked(set), t.lostLocked()
	t.mu.Unlock()
	if lost != nil {
		next.Ending().End(lost)
	}
	return next
}

// Twin tells whether other is the same lock by way of another client, so that a hold of the one shuts the
// other out.
func (b *Base) Twin(other *Base) bool {
	return b.Session != other.Session && b.Key == other.Key && !(b.Kind.side().Shared && other.Kind.side().Shared) &&
		session.SameDatabase(b.Session.Client, other.Session.Client)
}
