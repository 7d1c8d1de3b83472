package composite

import (
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// Streak is that of holds of composites of bases. alone says that the locks were free before although others
// had had the time to take them.
func Streak(bases []*baselock.Base, alone bool) cohort.Streak {
	s := cohort.Streak{Alone: alone}
	for _, b := range bases {
		s.Trip = max(s.Trip, b.Session.Dispatch.Trip(b.Key))
	}
	return s
}

// Meet returns the base of a lock, which must be of a type of this module, if a composite can hand it on;
// else nil.
func Meet(lock redlatch.Locker) *baselock.Base {
	base := locking.Of(lock)
	if base == nil || !base.Kind.Moves() {
		return nil
	}
	return base
}

// Offer has the releases of the members ask whether outsiders wait for them, because calls of this process
// wait behind the composite that is about to give them back.
func Offer(members []holds.Member) {
	for _, member := range members {
		if h, ok := member.Hold.(*baselock.Hold); ok {
			t := h.Tenant.Tenure
			t.Mu.Lock()
			h.Tenant.Offers = true
			t.Mu.Unlock()
		}
	}
}

// HandOn moves the members of a composite to another one of this process, of which to are the bases and opts
// the options of the call. The news of each member has to be fresh in streak, the composite's. It answers
// nothing, and leaves everything as it is, where that is impossible. Else tell has the observers of the
// members know; the caller calls it without a mutex.
func HandOn(members []holds.Member, to []*baselock.Base, opts []redlatch.Option,
	streak cohort.Streak) (moved []holds.Member, tell func()) {
	next := make([]*settings.Settings, len(members))
	for i, member := range members {
		h, ok := member.Hold.(*baselock.Hold)
		if !ok || !h.Tenant.Tenure.TryLockSend() {
			return nil, nil
		}
		defer h.Tenant.Tenure.UnlockSend()
		if next[i] = fitsAmong(h, to, opts, streak); next[i] == nil {
			return nil, nil
		}
	}
	moved = slices.Clone(members)
	for i, member := range members {
		moved[i].Hold = member.Hold.(*baselock.Hold).MoveTo(next[i])
	}
	now := time.Now()
	return moved, func() {
		returned := false
		defer raise.Unless(&returned, func() { declineAll(moved) }) // an observer of a member may panic
		for i, member := range members {
			member.Hold.(*baselock.Hold).Finish(context.Background(), redlatch.EventReleased, nil)
			moved[i].Hold.(*baselock.Hold).TellOf(context.Background(), now)
		}
		returned = true
	}
}

// fitsAmong is the settings of a call with opts on the one of the bases to which the tenure of h may be
// moved; nil if there is none. The caller has the send lock.
func fitsAmong(h *baselock.Hold, to []*baselock.Base, opts []redlatch.Option, streak cohort.Streak) *settings.Settings {
	t, c := h.Tenant.Tenure, h.Tenant
	i := slices.IndexFunc(to, func(b *baselock.Base) bool { return t.Of(b, b.Kind.Side.Name) })
	if i < 0 || !t.Base.Kind.Moves() {
		return nil
	}
	set, err := to[i].Resolve(opts, false)
	own := t.OwnStreak()
	streak.News, streak.Blur = own.News, own.Blur
	if err != nil || set.Replicas > 0 || c.Set.AtLeast > 0 || !t.Recent(&streak) {
		return nil
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !h.SoleLocked() || !t.FitsLocked(set) {
		return nil
	}
	return set
}

// Twin tells whether other is the same lock by way of another client, so that a hold of the one shuts the
// other out.
func Twin(b *baselock.Base, other *baselock.Base) bool {
	return b.Session != other.Session && b.Key == other.Key && !(b.Kind.Side.Shared && other.Kind.Side.Shared) &&
		session.SameDatabase(b.Session.Client, other.Session.Client)
}

// Together tells whether one script can take what both bases lock.
func Together(b *baselock.Base, other *baselock.Base) bool {
	return b.Session == other.Session && b.Key != other.Key && b.Kind.Moves() && other.Kind.Moves() &&
		b.Session.Shard(b.Key) == b.Session.Shard(other.Key)
}

// declineAll gives back holds that no call takes.
func declineAll(got []holds.Member) {
	for _, m := range got {
		go m.Hold.(*baselock.Hold).Decline()
	}
}
