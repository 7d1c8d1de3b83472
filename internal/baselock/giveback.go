package baselock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Unlock gives the hold back. Its contexts end first, so that the work stops before another holder starts.
func (h *Hold) Unlock(ctx context.Context) error {
	if rest := h.rest(); rest > 0 {
		return h.unlockIn(ctx, rest)
	}
	if !h.Retire() {
		return fmt.Errorf("%w: lock %q was unlocked before by this hold", errs.Released, h.Tenant.Tenure.Base.Name)
	}
	err := h.Explain(h.giveBack(ctx))
	h.Finish(ctx, redlatch.EventReleased, err)
	return err
}

// Confirmed notes that Redis, asked at sent, had this owner.
func (t *Tenure) Confirmed(sent time.Time) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.Streak != nil {
		t.Streak.Confirmed(sent)
	}
}

// GaveBack is what follows from the answer to a release.
func (t *Tenure) GaveBack(freed bool, receipt delivery.Receipt, err error) error {
	if outcome.WrongType(err) { // a program that wrote something else there has taken the lock away
		return t.Lose(watchdog.NotOwned, err)
	}
	if err != nil {
		t.Pending()
		return t.Unconfirmed(err, delivery.AsFailure(err).Doubt)
	}
	if receipt.Doubt {
		t.Doubted()
	}
	if freed {
		t.Confirmed(receipt.Sent)
		if t.Host != nil {
			t.moveOut()
		}
		return nil
	}
	trusted := clock.Now().Before(t.Entry.TrustedUntil())
	switch {
	case receipt.Doubt && trusted:
		t.Confirmed(receipt.Sent)
		return nil
	case receipt.Refused != nil && trusted:
		return fmt.Errorf("redlatch: %q is released, but the server refused what goes with it, perhaps the message to its waiters, "+
			"who poll then: %w", t.Base.Name, receipt.Refused)
	}
	return t.Lose(watchdog.NotOwned, nil)
}

// ReleaseWithin is the limit of a release that may take so long.
func ReleaseWithin(d time.Duration) delivery.Limit {
	return delivery.Limit{Outage: d, Total: d, Stubborn: true}
}

// Unconfirmed is the error of a release that the server did not confirm in time.
func (t *Tenure) Unconfirmed(err error, doubt bool) error {
	err = t.Base.Session.Dialing(err)
	if doubt {
		err = errs.Part(fmt.Errorf("%w: %w", errs.Uncertain, err), "")
	}
	if errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("redlatch: the release of %q is not confirmed and cannot go on, so the lock may stay taken until its lease is over; "+
			"close a client after the last Unlock: %w", t.Base.Name, err)
	}
	return fmt.Errorf("redlatch: the release of %q is not confirmed and goes on in the background, at most until its lease is over: %w",
		t.Base.Name, err)
}

// giveBack ends a hold that is retired, and releases it.
func (h *Hold) giveBack(ctx context.Context) error {
	t := h.Tenant.Tenure
	h.unlimit()
	h.Ending().End(errs.Released)
	var began time.Time // that of the release. Only a tenure that others have joined vouches for them
	if t.Base.Kind.Sharing != nil {
		began = clock.Now()
	}
	limit, err := time.Duration(0), error(nil)
	left, held, lost, gone := h.Part(false)
	if !gone {
		limit, err = t.lockSendToRelease(ctx, h.Tenant.Set.ReleaseTimeout)
		if left, held, lost, gone = h.Part(true); gone && err == nil {
			t.UnlockSend()
		}
	}
	switch {
	case gone && left > 0:
		return t.Base.Kind.Sharing.Vouch(ctx, t, began, lost)
	case gone:
		return lost
	case left > 0:
		h.Tenant.Adjust()
	}
	if err == nil {
		err = t.giveBackTo(ctx, left, held, ReleaseWithin(limit))
	} else {
		// An earlier command of this tenure has no answer yet. Settling takes the count to what is live now.
		if left == 0 { // a re-entry that succeeds after all finds that it came too late
			t.Unannounce(false)
		}
		t.Pending()
		err = t.Unconfirmed(delivery.Unavailable(err), true)
	}
	if lost != nil {
		return lost
	}
	return err
}

// giveBackTo sends the release of one hold, after which so many are left. The caller has the send lock;
// giveBackTo gives it back.
func (t *Tenure) giveBackTo(ctx context.Context, left int32, held bool, limit delivery.Limit) (err error) {
	defer t.UnlockSend()
	returned := false
	defer raise.Unless(&returned, t.Pending) // a hook of the client may panic on this goroutine
	if left > 0 && held {
		err = t.giveBackOne(ctx, limit, left)
	} else {
		err = t.Base.Kind.Ways.GiveBack(ctx, t, limit, held)
	}
	returned = true
	return err
}

// giveBackOne lowers the count. The lease stays what it is.
func (t *Tenure) giveBackOne(ctx context.Context, limit delivery.Limit, left int32) error {
	cmd := t.Base.Kind.Recount(t.Subject(left, 0))
	held, receipt, err := delivery.Within(ctx, t.Base.Session.Dispatch, cmd, limit)
	if receipt.Doubt || err != nil {
		t.Doubted()
	}
	if err != nil {
		return t.Unconfirmed(err, delivery.AsFailure(err).Doubt)
	}
	if !held {
		return t.Lose(watchdog.NotOwned, nil)
	}
	return nil
}

// Decline gives back a hold that no waiter takes, because the waiter that it was handed to has left.
func (h *Hold) Decline() {
	if h.Retire() {
		_ = h.giveBack(h.Tenant.Tenure.Base.Background(h.Tenant.Set)) // what is not confirmed goes on in the background
	}
}

// Retire marks the hold as given back and reports whether it was not before.
func (h *Hold) Retire() bool {
	t := h.Tenant.Tenure
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if h.released || h.left {
		return false
	}
	h.retireLocked()
	return true
}

func (h *Hold) retireLocked() {
	c := h.Tenant
	h.released = true
	if c.inner != nil {
		*c.inner = slices.DeleteFunc(*c.inner, func(other *Hold) bool { return other == h })
	}
}
