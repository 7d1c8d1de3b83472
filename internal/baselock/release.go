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

// The last Unlock of an owner takes the first of these steps that is possible:
//
//	local hand-off   to the next waiter of the process, without a command      local.go
//	atomic hand-off  to that waiter, by a script                               atomic.go
//	remote hand-off  to the process that has waited longest, or where none     remote.go
//	                 waits to the next waiter of this one, by one script
//	release          the lock is free, and its waiters are woken
//
// A fair lock has steps of its own, see turn.go.
//
// Hand-offs within the process follow one another only for so long, see [cohort.Streak]. While an owner
// holds, the cohort knows of it, and those of its process who come for the lock wait for what it does instead
// of asking a server that would refuse them.

// giveBackAll deletes the owner's field. Its absence is success only when an earlier send of this very
// release may have deleted it while the lease was still trusted. An owner that has not lost the lock may hand
// it on.
func (o *owner) giveBackAll(ctx context.Context, limit delivery.Limit, held bool) error {
	heard := false
	defer func() { o.unannounce(heard) }() // also when a hook of the client panics
	if o.base.Kind.Fair != nil {
		return o.endTurn(ctx, limit, held)
	}
	next := cohort.Release{}
	if held && o.base.Kind.HandsOn && o.host == nil {
		next = o.base.Session.Cohorts.Release(o.base.line, o)
	}
	switch next.Step {
	case cohort.Given:
		return nil
	case cohort.Due:
		if o.base.row == "" {
			next.Claim.Yield()
		}
	case cohort.Unfit:
		if o.handing(next.Claim.Who().(*owner)) == nil {
			if o.base.row == "" { // else the release names the waiter, and ends the claim when it is answered
				next.Claim.End()
			}
			break
		}
		start := time.Now()
		if err := o.handOffAtomically(ctx, limit, next.Cohort, next.Claim); err != errNotHandedOff {
			return err
		}
		limit.Total = max(time.Millisecond, limit.Total-time.Since(start))
		next.Cohort = nil
	}
	hears := o.hears() // a waiter that comes later, or is not subscribed yet, is woken by unannounce
	if held && o.base.row != "" {
		all, err := o.handOffRemotely(ctx, limit, next)
		heard = hears && all && err == nil
		return err
	}
	err := o.release(ctx, limit)
	heard = hears && err == nil && !o.base.Kind.side().Shared // there is no message while others hold a share
	return err
}

// announce has those of this process who come for the lock wait for what o does.
func (o *owner) announce() {
	o.post = cohort.Holder{
		Since: o.first.since, Gives: o.base.Kind.HandsOn && o.host == nil, Shared: o.base.Kind.side().Shared,
	}
	o.base.Session.Cohorts.Hold(o.base.line, &o.post)
}

// unannounce has them ask, unless o has handed the lock on or they hear of its release.
func (o *owner) unannounce(heard bool) {
	if o.base.Kind.Confirm != nil {
		o.base.Session.Cohorts.Unshare(o.base.line, o)
	}
	o.base.Session.Cohorts.Free(o.base.line, &o.post, heard)
}

// hears tells whether those who wait in this process will hear of a release.
func (o *owner) hears() bool {
	return o.base.Kind.HandsOn && o.base.Session.Cohorts.Find(o.base.line).Hears()
}

// release sets the lock free.
func (o *owner) release(ctx context.Context, limit delivery.Limit) error {
	cmd := o.base.Kind.Release(o.subject(0, 0))
	freed, receipt, err := delivery.Within(ctx, o.base.Session.Dispatch, cmd, limit)
	return o.gaveBack(freed, receipt, err)
}

// gaveBack is what follows from the answer to a release.
func (o *owner) gaveBack(freed bool, receipt delivery.Receipt, err error) error {
	if outcome.WrongType(err) { // a program that wrote something else there has taken the lock away
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
		o.confirmed(receipt.Sent)
		o.moveOut()
		return nil
	}
	trusted := clock.Now().Before(o.ticket.TrustedUntil())
	switch {
	case receipt.Doubt && trusted:
		o.confirmed(receipt.Sent)
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
	err = o.base.Session.Dialing(err)
	if doubt {
		err = errs.Part(fmt.Errorf("%w: %w", errs.Uncertain, err), "")
	}
	if errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("redlatch: the release of %q is not confirmed and cannot go on, so the lock may stay taken until its lease is over; "+
			"close a client after the last Unlock: %w", o.base.Name, err)
	}
	return fmt.Errorf("redlatch: the release of %q is not confirmed and goes on in the background, at most until its lease is over: %w",
		o.base.Name, err)
}
