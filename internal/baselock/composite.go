package baselock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// A composite hands its members on to the next of its own waiters as a holder hands on a single lock: each
// member's owner gets a successor with the same identity, and no command is sent. All members move, or none.
//
//	                   every owner's send lock is free, and every owner may have a successor
//	held by a composite ───────────────────────────────────────────────────────────► held by the next one
//	         │
//	         └── one of them may not: all stay as they are, and the composite gives them back
//
// What an owner was asked for in the name of the composite before cannot touch the successor. It needs the
// owner's send lock, and finds afterwards that the owner holds nothing: the successor is an owner of its own.

// Streak is that of holds of composites of bases. alone says that the locks were free before although others
// had had the time to take them.
func Streak(bases []*Base, alone bool) cohort.Streak {
	s := cohort.Streak{Alone: alone}
	for _, b := range bases {
		s.Trip = max(s.Trip, b.Session.Dispatch.Trip(b.Key))
	}
	return s
}

// YieldFor is for how long a process leaves a lock free, now and then, where the waiters of other processes
// only poll.
const YieldFor = openFor

var errMet = errors.New("redlatch: the lock was only asked what it stands on")

// Meet returns the base of a lock, which must be of a type of this module, if a composite can hand it on;
// else nil.
func Meet(lock redlatch.Locker) *Base {
	base := Of(lock)
	if base == nil || !base.Kind.moves() {
		return nil
	}
	return base
}

// Of returns the base of a lock, which must be of a type of this module, nil if that is a composite.
func Of(lock redlatch.Locker) (base *Base) {
	_, _ = lock.TryLock(context.Background(), rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		s.Meet = func(b any) { base = b.(*Base) }
	}))
	return base
}

// Offer has the releases of the members ask whether outsiders wait for them, because calls of this process
// wait behind the composite that is about to give them back.
func Offer(members []holds.Member) {
	for _, member := range members {
		if h, ok := member.Hold.(*hold); ok {
			h.owner.mu.Lock()
			h.owner.offers = true
			h.owner.mu.Unlock()
		}
	}
}

// HandOn hands the members of a composite on to another one of this process, of which to are the bases and
// opts the options of the call. The news of each member has to be fresh in streak, the composite's. It
// answers nothing, and leaves everything as it is, where that is impossible. Else tell has the observers of
// the members know; the caller calls it without a mutex.
func HandOn(members []holds.Member, to []*Base, opts []redlatch.Option,
	streak cohort.Streak) (successors []holds.Member, tell func()) {
	next := make([]*owner, 0, len(members))
	for _, member := range members {
		h, ok := member.Hold.(*hold)
		if !ok || !h.owner.tryLockSend() {
			return nil, nil
		}
		defer h.owner.unlockSend()
		successor := h.successorAmong(to, opts, streak)
		if successor == nil {
			return nil, nil
		}
		next = append(next, successor)
	}
	successors = slices.Clone(members)
	for i, member := range members {
		successors[i].Hold = member.Hold.(*hold).moveTo(next[i])
	}
	now := time.Now()
	return successors, func() {
		returned := false
		defer raise.Unless(&returned, func() { declineAll(successors) }) // an observer of a member may panic
		for i, member := range members {
			member.Hold.(*hold).finish(context.Background(), settings.Released, nil)
			successors[i].Hold.(*hold).tellOf(context.Background(), now)
		}
		returned = true
	}
}

// successorAmong is the owner that may follow that of h, for a call with opts on one of the bases; nil if
// none may. The caller has the send lock.
func (h *hold) successorAmong(to []*Base, opts []redlatch.Option, streak cohort.Streak) *owner {
	o := h.owner
	i := slices.IndexFunc(to, func(b *Base) bool { return o.of(b, b.Kind.side().Name) })
	if i < 0 || !o.base.Kind.moves() || !h.sole() {
		return nil
	}
	set, err := to[i].resolve(opts, false)
	own := o.Streak()
	streak.News, streak.Blur = own.News, own.Blur
	if err != nil || set.Replicas > 0 || o.set.AtLeast > 0 || !o.recent(&streak) {
		return nil
	}
	successor := newOwnerAs(to[i], set, o.id)
	if !o.suits(successor) {
		return nil
	}
	return successor
}

// moves tells whether an owner of this kind is nothing but its field: it has no token, place in a queue, or
// other side.
func (k *Kind) moves() bool { return k.Tokens == nil && k.Fair == nil && k.Side == nil }

// sole tells whether h is all that there is of its owner.
func (h *hold) sole() bool {
	o := h.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	return h == &o.first && o.live == 1 && o.lostLocked() == nil && !h.released && !h.dropped && !h.over &&
		h.limit.Load() == nil
}

// moveTo ends h, with no command, and has successor hold in its place.
func (h *hold) moveTo(successor *owner) *hold {
	o := h.owner
	o.mu.Lock()
	lost := o.lostLocked()
	h.retireLocked()
	o.live = 0
	o.mu.Unlock()
	h.ending.End(errs.Released)
	o.base.Session.Watchdog.Forget(&o.ticket)
	successor.most, successor.streak = o.most, o.streak
	given := successor.begin(time.Now(), o.ticket.TrustedUntil(), scripts.Attempt{})
	given.path = local
	if lost != nil { // its composite hears of it
		reason := lost.Reason
		if lost.Forced != "" {
			successor.Gone(lost.Forced)
		}
		if reason == redlatch.ReasonRestarted { // the loss of the successor finds that out again
			reason = redlatch.ReasonTaken
		}
		_ = successor.lose(reason, lost.Cause)
	}
	return given
}

// Twin tells whether other is the same lock by way of another client, so that a hold of the one shuts the
// other out.
func (b *Base) Twin(other *Base) bool {
	return b.Session != other.Session && b.Key == other.Key && !(b.Kind.side().Shared && other.Kind.side().Shared) &&
		session.SameDatabase(b.Session.Client, other.Session.Client)
}
