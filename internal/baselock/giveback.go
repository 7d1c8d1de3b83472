package baselock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// confirmed notes that Redis, asked at sent, had this owner.
func (t *tenure) confirmed(sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.streak != nil {
		t.streak.Confirmed(sent)
	}
}

// gaveBack is what follows from the answer to a release.
func (t *tenure) gaveBack(freed bool, receipt delivery.Receipt, err error) error {
	if outcome.WrongType(err) { // a program that wrote something else there has taken the lock away
		return t.lose(watchdog.NotOwned, err)
	}
	if err != nil {
		t.pending()
		return t.unconfirmed(err, delivery.AsFailure(err).Doubt)
	}
	if receipt.Doubt {
		t.doubted()
	}
	if freed {
		t.confirmed(receipt.Sent)
		t.moveOut()
		return nil
	}
	trusted := clock.Now().Before(t.entry.TrustedUntil())
	switch {
	case receipt.Doubt && trusted:
		t.confirmed(receipt.Sent)
		return nil
	case receipt.Refused != nil && trusted:
		return fmt.Errorf("redlatch: %q is released, but the server refused what goes with it, perhaps the message to its waiters, "+
			"who poll then: %w", t.base.Name, receipt.Refused)
	}
	return t.lose(watchdog.NotOwned, nil)
}

// releaseWithin is the limit of a release that may take so long.
func releaseWithin(d time.Duration) delivery.Limit {
	return delivery.Limit{Outage: d, Total: d, Stubborn: true}
}

// unconfirmed is the error of a release that the server did not confirm in time.
func (t *tenure) unconfirmed(err error, doubt bool) error {
	err = t.base.Session.Dialing(err)
	if doubt {
		err = errs.Part(fmt.Errorf("%w: %w", errs.Uncertain, err), "")
	}
	if errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("redlatch: the release of %q is not confirmed and cannot go on, so the lock may stay taken until its lease is over; "+
			"close a client after the last Unlock: %w", t.base.Name, err)
	}
	return fmt.Errorf("redlatch: the release of %q is not confirmed and goes on in the background, at most until its lease is over: %w",
		t.base.Name, err)
}

// giveBack ends a hold that is retired, and releases it.
func (h *hold) giveBack(ctx context.Context) error {
	t := h.tenant.tenure
	h.unlimit()
	h.Ending().End(errs.Released)
	var began time.Time // that of the release. Only a tenure that others have joined vouches for them
	if t.base.Kind.Sharing != nil {
		began = clock.Now()
	}
	limit, err := time.Duration(0), error(nil)
	left, held, lost, gone := h.part(false)
	if !gone {
		limit, err = t.lockSendToRelease(ctx, h.tenant.set.ReleaseTimeout)
		if left, held, lost, gone = h.part(true); gone && err == nil {
			t.unlockSend()
		}
	}
	switch {
	case gone && left > 0:
		return t.base.Kind.Sharing.Vouch(ctx, t, began, lost)
	case gone:
		return lost
	case left > 0:
		h.tenant.adjust()
	}
	if err == nil {
		err = t.giveBackTo(ctx, left, held, releaseWithin(limit))
	} else {
		// An earlier command of this tenure has no answer yet. Settling takes the count to what is live now.
		if left == 0 { // a re-entry that succeeds after all finds that it came too late
			t.unannounce(false)
		}
		t.pending()
		err = t.unconfirmed(delivery.Unavailable(err), true)
	}
	if lost != nil {
		return lost
	}
	return err
}

// giveBackTo sends the release of one hold, after which so many are left. The caller has the send lock;
// giveBackTo gives it back.
func (t *tenure) giveBackTo(ctx context.Context, left int32, held bool, limit delivery.Limit) (err error) {
	defer t.unlockSend()
	returned := false
	defer raise.Unless(&returned, t.pending) // a hook of the client may panic on this goroutine
	if left > 0 && held {
		err = t.giveBackOne(ctx, limit, left)
	} else {
		err = t.base.Kind.Ways.GiveBack(ctx, t, limit, held)
	}
	returned = true
	return err
}

// giveBackOne lowers the count. The lease stays what it is.
func (t *tenure) giveBackOne(ctx context.Context, limit delivery.Limit, left int32) error {
	cmd := t.base.Kind.Recount(t.subject(left, 0))
	held, receipt, err := delivery.Within(ctx, t.base.Session.Dispatch, cmd, limit)
	if receipt.Doubt || err != nil {
		t.doubted()
	}
	if err != nil {
		return t.unconfirmed(err, delivery.AsFailure(err).Doubt)
	}
	if !held {
		return t.lose(watchdog.NotOwned, nil)
	}
	return nil
}

// decline gives back a hold that no waiter takes, because the waiter that it was handed to has left.
func (h *hold) decline() {
	if h.retire() {
		_ = h.giveBack(h.tenant.tenure.base.background(h.tenant.set)) // what is not confirmed goes on in the background
	}
}
