package baselock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// The last Unlock of a tenant takes the first of these steps that is possible:
//
//	local hand-off   to the next waiter of the process, without a command      move.go
//	atomic hand-off  to that waiter, by a script                               atomic.go
//	remote hand-off  to the process that has waited longest, or where none     remote.go
//	                 waits to the next waiter of this one, by one script
//	release          the lock is free, and its waiters are woken
//
// A fair lock has steps of its own, see turn.go.
//
// Hand-offs within the process follow one another only for so long, see [cohort.Streak]. While a tenure
// is held, the cohort knows of it, and those of its process who come for the lock wait for what it does instead
// of asking a server that would refuse them.

// giveBackAll moves the tenure, or deletes its field. The absence of that is success only when an earlier
// send of this very release may have deleted it while the lease was still trusted. What is not lost may be
// handed on.
func (t *tenure) giveBackAll(ctx context.Context, limit delivery.Limit, held bool) error {
	if t.base.Kind.Fair != nil {
		return t.endTurn(ctx, limit, held)
	}
	next, heard := cohort.Release{}, false
	defer func() { // also when a hook of the client panics
		if next.Step != cohort.Given {
			t.unannounce(heard)
		}
	}()
	if held && t.base.Kind.HandsOn && t.host == nil {
		next = t.base.Session.Cohorts.Release(t.base.line, t)
	}
	if next.Step == cohort.Given {
		return nil
	}
	t.forget()
	switch next.Step {
	case cohort.Due:
		if t.base.row == "" {
			next.Claim.Yield()
		}
	case cohort.Unfit:
		if t.handing(next.Claim.Who().(*caller)) == nil {
			if t.base.row == "" { // else the release names the waiter, and ends the claim when it is answered
				next.Claim.End()
			}
			break
		}
		start := time.Now()
		if err := t.handOffAtomically(ctx, limit, next.Cohort, next.Claim); err != errNotHandedOff {
			return err
		}
		limit.Total = max(time.Millisecond, limit.Total-time.Since(start))
		next.Cohort = nil
	}
	hears := t.hears() // a waiter that comes later, or is not subscribed yet, is woken by unannounce
	if held && t.base.row != "" {
		all, err := t.handOffRemotely(ctx, limit, next)
		heard = hears && all && err == nil
		return err
	}
	err := t.release(ctx, limit)
	heard = hears && err == nil && !t.base.Kind.side().Shared // there is no message while others hold a share
	return err
}

// announce has those of this process who come for the lock wait for what t does.
func (t *tenure) announce() {
	t.post = cohort.Holder{
		Since: t.first.first.Since, Gives: t.base.Kind.HandsOn && t.host == nil, Shared: t.base.Kind.side().Shared,
	}
	t.base.Session.Cohorts.Hold(t.base.line, &t.post)
}

// unannounce has them ask, unless t has handed the lock on or they hear of its release.
func (t *tenure) unannounce(heard bool) {
	if t.base.Kind.Confirm != nil {
		t.base.Session.Cohorts.Unshare(t.base.line, t)
	}
	t.base.Session.Cohorts.Free(t.base.line, &t.post, heard)
}

// hears tells whether those who wait in this process will hear of a release.
func (t *tenure) hears() bool {
	return t.base.Kind.HandsOn && t.base.Session.Cohorts.Find(t.base.line).Hears()
}

// release sets the lock free.
func (t *tenure) release(ctx context.Context, limit delivery.Limit) error {
	cmd := t.base.Kind.Release(t.subject(0, 0))
	freed, receipt, err := delivery.Within(ctx, t.base.Session.Dispatch, cmd, limit)
	return t.gaveBack(freed, receipt, err)
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
