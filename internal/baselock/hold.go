package baselock

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A hold is one acquisition of an owner: the first, or a re-entry.
type hold struct {
	owner  *owner
	ending holds.Ending
	since  watchdog.Moment
	limit  atomic.Pointer[limit] // nil while it lasts as long as its owner; see limit.go

	told  atomic.Pointer[observe.Hold] // nil: no observer was told of it; see tell.go
	group int32                        // it counts with the holds of its owner that have the same; see join.go
	path  path

	// The rest is guarded by owner.mu.

	renewed  bool // it has no lease of its own, so the watchdog renews the owner while it lives
	released bool // given back, or on the way
	dropped  bool // unreachable for the program, or left: its lease runs out
	left     bool // by Leave
	over     bool // its own limit has ended it, and not its owner
}

// live tells whether the hold can be re-entered.
func (h *hold) live() bool {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	return !h.released && !h.over && !h.left && h.owner.lostLocked() == nil
}

// Local tells whether the lock came from another hold of this process without a command.
func (h *hold) Local() bool { return h.path == local }

// Passed tells whether another process handed the lock on to this one.
func (h *hold) Passed() bool { return h.path == passed }

// Client tells a test where it is still held.
func (h *hold) Client() any { return h.owner.base.Session.Client }

func (h *hold) Object() (primitive, name string) {
	return string(h.owner.base.Kind.Label), h.owner.base.Name
}
func (h *hold) Owner() string         { return h.owner.id }
func (h *hold) Ending() *holds.Ending { return &h.ending }

func (h *hold) Token() int64 {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	return h.owner.token
}

// Until is the owner's trust, or the end of the hold's own if that is sooner, or the moment at which the hold
// ended.
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

// Unlock gives the hold back. Its contexts end first, so that the work stops before another holder starts.
func (h *hold) Unlock(ctx context.Context) error {
	o := h.owner
	if rest := h.rest(); rest > 0 {
		return h.unlockIn(ctx, rest)
	}
	if !h.retire() {
		return fmt.Errorf("%w: lock %q was unlocked before by this hold", errs.Released, o.base.Name)
	}
	err := h.Explain(h.giveBack(ctx))
	h.finish(ctx, settings.Released, err)
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
	var began time.Time // that of the release. Only an owner that others have joined vouches for them
	if o.base.Kind.Confirm != nil {
		began = clock.Now()
	}
	if left, lost := h.slip(); left {
		return o.vouch(ctx, began, lost)
	}
	limit, err := o.lockSendToRelease(ctx)
	left, held, lost, gone := h.part()
	if gone {
		if err == nil {
			o.unlockSend()
		}
		if left > 0 {
			return o.vouch(ctx, began, lost)
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

// giveBackTo sends the release of one hold, after which so many are left. The caller has the send lock;
// giveBackTo gives it back.
func (o *owner) giveBackTo(ctx context.Context, left int32, held bool, limit delivery.Limit) (err error) {
	defer o.unlockSend()
	returned := false
	defer raise.Unless(&returned, o.pending) // a hook of the client may panic on this goroutine
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
	if receipt.Doubt || err != nil {
		o.doubted()
	}
	if err != nil {
		return o.unconfirmed(err, delivery.AsFailure(err).Doubt)
	}
	if !held {
		return o.lose(watchdog.NotOwned, nil)
	}
	return nil
}

// Extend lengthens the lease of the owner, and the time for which this hold is promised it.
func (h *hold) Extend(ctx context.Context, lease time.Duration) error {
	o := h.owner
	if err := o.lockSend(ctx); err != nil {
		return fmt.Errorf("redlatch: extending the lease of %q: %w", o.base.Name, o.base.Session.Dialing(err))
	}
	defer o.unlockSend()
	o.mu.Lock()
	released := h.released || h.left
	o.mu.Unlock()
	if released {
		return fmt.Errorf("%w: lock %q cannot be extended any more", errs.Released, o.base.Name)
	}
	return h.lengthen(ctx, h.leaseWithin(time.Now(), lease), delivery.Limit{Outage: o.set.OutageFor(false)})
}

// lengthen is Extend for a caller that has the send lock.
func (h *hold) lengthen(ctx context.Context, lease time.Duration, limit delivery.Limit) error {
	o := h.owner
	o.mu.Lock()
	lost, live := h.lostLocked(), o.countedLocked()
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
		return fmt.Errorf("redlatch: extending the lease of %q: %w", o.base.Name, o.base.Session.Dialing(err))
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
	if h.drop(true, errs.Released) {
		h.finish(context.Background(), settings.Left, nil)
	}
}

// Forgotten ends a hold that the program has dropped, and its renewal, unless others of its owner still need
// that.
func (h *hold) Forgotten(there *holds.Place) {
	o := h.owner
	// The program has no context of the hold any more, but a goroutine may still wait on the channel that a
	// context's Done returned.
	if !h.drop(false, &redlatch.LossError{Name: o.base.Name, Owner: o.id, Reason: redlatch.ReasonForgotten,
		At: time.Now()}) {
		return
	}
	holds.Report(o.set.Logger,
		"redlatch: a hold was dropped without Unlock; it is renewed no longer and ends with its lease",
		there, "lock.name", o.base.Name, "lock.primitive", o.base.Kind.Label, "lock.owner", o.id)
	h.finish(context.Background(), settings.Forgotten, nil)
}

// drop has the lease of h run out, and ends its contexts for that cause. It reports whether h was held until
// then.
func (h *hold) drop(left bool, cause error) bool {
	o := h.owner
	o.mu.Lock()
	if h.released || h.left {
		o.mu.Unlock()
		return false
	}
	lost := h.lostLocked() != nil
	h.dropped, h.left = true, left
	o.shared.Close()
	o.mu.Unlock()
	h.ending.End(cause)
	h.unlimit()
	if !lost {
		o.adjust()
	}
	return !lost
}

var _ holds.Hold = (*hold)(nil)
var _ session.Renewer = (*owner)(nil)
