package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/settings"
)

// A loan ends with its streak, by a timer, or before it by the first call that needs it to.

// planEnd has the loan end with the streak at the latest. It follows Cohorts.Share: the end of a streak may have been planned by an
// earlier loan, and come at any moment.
func (o *owner) planEnd() {
	b := o.base
	o.mu.Lock()
	now, end := clock.Now(), o.streak.End()
	planned := o.streak.Due.Equal(end) && now.Before(end)
	o.streak.Due = end
	o.mu.Unlock()
	if planned {
		return
	}
	time.AfterFunc(end.Sub(now), func() {
		if late := b.onLoan(); late != nil {
			late.endOverdue()
		}
	})
}

// onLoan is what calls of this process may join and Redis may know as a writer; nil if there is nothing.
func (b *Base) onLoan() *owner {
	if o, _, _ := b.shared(); o != nil && o.borrowed() != "" {
		return o
	}
	return nil
}

// endOverdue ends the loan, and comes again while it cannot.
func (o *owner) endOverdue() {
	ctx, cancel := context.WithTimeout(o.base.background(o.set), settleAttempt)
	defer cancel()
	o.mu.Lock()
	pause := o.streak.End().Sub(clock.Now())
	dropped := o.shared.Closed()
	o.mu.Unlock()
	if pause <= 0 || dropped {
		_ = o.endLoan(ctx, delivery.Limit{Outage: settleAttempt})
		pause = firstSettle
	}
	if o.holds() && o.borrowed() != "" {
		time.AfterFunc(pause, o.endOverdue)
	}
}

// turnSoon ends the loan of an owner whose holds may not all be given back.
func (o *owner) turnSoon() {
	if o.borrowed() != "" {
		go o.endOverdue()
	}
}

// repay ends the loan of this process before a call asks for itself: else the call would be refused although only readers hold.
func (b *Base) repay(ctx context.Context, set *settings.Settings) {
	if o := b.onLoan(); o != nil {
		_ = o.endLoan(ctx, delivery.Limit{Outage: set.OutageFor(true)})
	}
}

// endLoan has Redis know o as a reader.
func (o *owner) endLoan(ctx context.Context, limit delivery.Limit) error {
	if o.borrowed() == "" {
		return nil
	}
	if err := o.lockSend(ctx); err != nil {
		return err
	}
	defer o.unlockSend()
	if !o.holds() {
		return errOver
	}
	return o.asReader(ctx, limit)
}

// asReader is endLoan for a caller that has the send lock.
func (o *owner) asReader(ctx context.Context, limit delivery.Limit) error {
	if o.borrowed() == "" {
		return nil
	}
	_, line, _ := o.base.shared()
	return o.ask(ctx, line, limit)
}
