package baselock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A hold is one acquisition of an owner: the first, or a re-entry.
type hold struct {
	owner  *owner
	ending holds.Ending
	since  watchdog.Moment
	limit  atomic.Pointer[limit] // nil while it lasts as long as its owner; see share.go

	observer func(settings.Event) // nil: nobody is told; see tell.go

	inherited bool // from a hold of this process, without a command

	// The rest is guarded by owner.mu.

	renewed  bool // it has no lease of its own, so the watchdog renews the owner while it lives
	released bool // given back, or on the way
	dropped  bool // unreachable for the program, or left: its lease runs out
	left     bool // by Leave
	over     bool // its own limit has ended it, and not its owner
	told     holds.Telling
}

// live tells whether the hold can be re-entered.
func (h *hold) live() bool {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	return !h.released && !h.over && !h.left && h.owner.lost == nil
}

// Inherited tells whether the lock came from another hold of this process without a command.
func (h *hold) Inherited() bool { return h.inherited }

func (h *hold) Owner() string         { return h.owner.id }
func (h *hold) Ending() *holds.Ending { return &h.ending }

func (h *hold) Token() int64 {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	return h.owner.token
}

// Until is the owner's trust, or the end of the hold's own if that is sooner, or the moment at which the hold ended.
func (h *hold) Until() time.Time {
	now := clock.Now() // before the trust is read: a suspension moves it back
	until := h.owner.ticket.TrustedUntil()
	if l := h.limit.Load(); l != nil {
		if own := l.ticket.TrustedUntil(); own.Before(until) {
			until = own
		}
	}
	if h.ending.Cause() != nil && now.Before(until) {
		return now
	}
	return until
}

// Unlock gives the hold back. Its contexts end first, so that the work stops before somebody else starts.
func (h *hold) Unlock(ctx context.Context) error {
	o := h.owner
	if rest := h.rest(); rest > 0 {
		return h.unlockIn(ctx, rest)
	}
	if !h.retire() {
		return fmt.Errorf("%w: lock %q was unlocked before by this hold", errs.Released, o.base.Name)
	}
	err := h.giveBack(ctx)
	h.finish(settings.Released, err)
	return err
}

// retire marks the hold as given back and reports whether it was not before.
func (h *hold) retire() bool {
	o := h.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	if h.released || h.left {
		return false
	}
	h.retireLocked()
	return true
}

func (h *hold) retireLocked() {
	o := h.owner
	h.released = true
	if o.inner != nil {
		*o.inner = slices.DeleteFunc(*o.inner, func(other *hold) bool { return other == h })
	}
}

// giveBack ends a hold that is retired, and releases it.
func (h *hold) giveBack(ctx context.Context) error {
	o := h.owner
	h.unlimit()
	h.ending.End(errs.Released)
	limit, err := o.enterToRelease(ctx)
	left, held, lost, gone := h.part()
	if gone {
		if err == nil {
			o.exit()
		}
		return lost
	}
	if left > 0 {
		o.adjust()
	} else {
		o.base.Session.Watchdog.Forget(&o.ticket)
	}
	if err == nil {
		err = o.giveBackTo(ctx, left, held, releaseWithin(limit))
	} else {
		// An earlier command of this owner has no answer yet. Settling takes the count to what is live now.
		if left == 0 { // a re-entry that succeeds after all finds that it came too late
			o.unannounce(false)
		}
		o.pending()
		err = o.unconfirmed(delivery.Unavailable(err), true)
	}
	if lost != nil {
		return lost
	}
	return err
}

// giveBackTo sends the release of one hold, after which so many are left. The caller has the turn; giveBackTo passes it
// on.
func (o *owner) giveBackTo(ctx context.Context, left int32, held bool, limit delivery.Limit) (err error) {
	returned := false
	defer func() { // a hook of the client may panic on this goroutine, and nothing else of the owner could be sent
		if !returned {
			o.pending()
		}
		o.exit()
	}()
	if left > 0 && held {
		err = o.giveBackOne(ctx, limit, left)
	} else {
		err = o.giveBackAll(ctx, limit, held)
	}
	returned = true
	return err
}

// giveBackOne lowers the count. The lease stays what it is.
func (o *owner) giveBackOne(ctx context.Context, limit delivery.Limit, left int32) error {
	cmd := o.base.Kind.Recount(o.subject(left, 0))
	held, receipt, err := delivery.Within(ctx, o.base.Session.Dispatch, cmd, limit)
	if err != nil {
		o.doubted()
		return o.unconfirmed(err, delivery.AsFailure(err).Doubt)
	}
	if receipt.Doubt {
		o.doubted()
	}
	if !held {
		return o.lose(watchdog.NotOwned, nil)
	}
	return nil
}

// giveBackAll deletes the owner's field. Its absence is success only when an earlier send of this very release may
// have deleted it while the lease was still trusted. An owner that has not lost the lock may hand it over.
func (o *owner) giveBackAll(ctx context.Context, limit delivery.Limit, held bool) error {
	heard := false
	defer func() { o.unannounce(heard) }() // also when a hook of the client panics
	var behind *cohort.Cohort
	if held {
		line, claim, ok := o.successor()
		for ; ok && o.canBequeath(line, claim); line, claim, ok = o.successor() {
			if o.bequeath(claim) {
				return nil
			}
		}
		switch {
		case ok && o.base.Kind.HandOff.Atomic == nil:
			claim.End()
		case ok:
			start := time.Now()
			if err := o.handOver(ctx, limit, line, claim); err != errNotHandedOver {
				return err
			}
			limit.Total = max(time.Millisecond, limit.Total-time.Since(start))
		default:
			behind = line
		}
	}
	hears := o.hears() // who comes later, or is not subscribed yet, is woken by us
	if held && o.base.row != "" {
		all, err := o.pass(ctx, limit, behind)
		heard = hears && all && err == nil
		return err
	}
	err := o.release(ctx, limit)
	heard = hears && err == nil
	return err
}

// release frees the lock for everybody.
func (o *owner) release(ctx context.Context, limit delivery.Limit) error {
	wake, err := o.base.wakeWithin(ctx, limit.Total)
	if err != nil {
		o.pending()
		return o.unconfirmed(err, false)
	}
	s := o.subject(0, 0)
	s.Wake = wake
	cmd := o.base.Kind.Release(s)
	freed, receipt, err := delivery.Within(ctx, o.base.Session.Dispatch, cmd, limit)
	return o.gaveBack(freed, receipt, err)
}

// gaveBack is what follows from the answer to a release.
func (o *owner) gaveBack(freed bool, receipt delivery.Receipt, err error) error {
	if outcome.WrongType(err) { // whoever wrote something else there has taken the lock away
		return o.lose(watchdog.NotOwned, err)
	}
	if err != nil {
		o.pending()
		return o.unconfirmed(err, delivery.AsFailure(err).Doubt)
	}
	if receipt.Doubt {
		o.doubted()
	}
	if freed {
		o.moveOut()
		return nil
	}
	trusted := clock.Now().Before(o.ticket.TrustedUntil())
	switch {
	case receipt.Doubt && trusted:
		return nil
	case receipt.Refused != nil && trusted:
		return fmt.Errorf("redlatch: %q is released, but the server refused what goes with it, perhaps the message to its waiters, "+
			"who poll then: %w", o.base.Name, receipt.Refused)
	}
	return o.lose(watchdog.NotOwned, nil)
}

// releaseWithin is the limit of a release that may take so long.
func releaseWithin(d time.Duration) delivery.Limit {
	return delivery.Limit{Outage: d, Total: d, Stubborn: true}
}

// unconfirmed is the error of a release that the server did not confirm in time.
func (o *owner) unconfirmed(err error, doubt bool) error {
	if doubt {
		err = fmt.Errorf("%w: %w", errs.Uncertain, err)
	}
	if errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("redlatch: the release of %q is not confirmed and cannot go on, so the lock may stay taken until its lease is over; "+
			"close a client after the last Unlock: %w", o.base.Name, err)
	}
	return fmt.Errorf("redlatch: the release of %q is not confirmed and goes on in the background, at most until its lease is over: %w",
		o.base.Name, err)
}

// Extend lengthens the lease of the owner, and the time for which this hold is promised it.
func (h *hold) Extend(ctx context.Context, lease time.Duration) error {
	o := h.owner
	if err := o.enter(ctx); err != nil {
		return fmt.Errorf("redlatch: extending the lease of %q: %w", o.base.Name, err)
	}
	defer o.exit()
	o.mu.Lock()
	released := h.released || h.left
	o.mu.Unlock()
	if released {
		return fmt.Errorf("%w: lock %q cannot be extended any more", errs.Released, o.base.Name)
	}
	return h.lengthen(ctx, h.leaseWithin(time.Now(), lease), delivery.Limit{Outage: o.set.OutageFor(false)})
}

// lengthen is Extend for a caller who has the turn.
func (h *hold) lengthen(ctx context.Context, lease time.Duration, limit delivery.Limit) error {
	o := h.owner
	o.mu.Lock()
	lost, live := h.lostLocked(), o.live
	o.mu.Unlock()
	if lost != nil {
		return lost
	}
	cmd := o.base.Kind.Recount(o.subject(live, lease))
	held, receipt, err := delivery.Deliver(ctx, o.base.Session.Dispatch, cmd, limit)
	if receipt.Doubt || err != nil {
		o.doubted()
	}
	if err != nil {
		return fmt.Errorf("redlatch: extending the lease of %q: %w", o.base.Name, err)
	}
	if !held {
		return o.lose(watchdog.NotOwned, nil)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if lost := h.lostLocked(); lost != nil { // meanwhile, by the clock
		return lost
	}
	trusted := watchdog.Trusted(receipt.Sent, lease)
	o.agreeLocked(trusted)
	h.prolongLocked(trusted)
	return nil
}

// Leave ends the hold, and its renewal, unless others of its owner still need that.
func (h *hold) Leave() {
	o := h.owner
	o.mu.Lock()
	if h.released || h.left {
		o.mu.Unlock()
		return
	}
	lost := h.lostLocked() != nil
	h.dropped, h.left = true, true
	o.mu.Unlock()
	h.unlimit()
	h.ending.End(errs.Released)
	if !lost {
		o.adjust()
		h.finish(settings.Left, nil)
	}
}

// Forgotten ends a hold that the program has dropped, and its renewal, unless others of its owner still need that.
func (h *hold) Forgotten(there *holds.Place) {
	o := h.owner
	o.mu.Lock()
	if h.released || h.left || h.lostLocked() != nil {
		o.mu.Unlock()
		return
	}
	h.dropped = true
	o.mu.Unlock()
	h.unlimit()
	o.adjust()
	// Nobody has a context of it any more, but somebody may still wait on what such a context's Done returned.
	h.ending.End(&redlatch.LossError{Name: o.base.Name, Owner: o.id, Reason: "it was dropped without Unlock", At: time.Now()})
	holds.Report(o.set.Logger, "redlatch: a hold was dropped without Unlock; it is renewed no longer and ends with its lease",
		there, "lock", o.base.Name, "owner", o.id)
	h.finish(settings.Forgotten, nil)
}

var _ holds.Hold = (*hold)(nil)
var _ session.Renewer = (*owner)(nil)
