package locking

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
)

// Slip is the first half of an Unlock that leaves others of its tenant behind. It returns the second half.
func Slip(given holds.Hold) (vouch func(context.Context) error) {
	h := given.(*baselock.Hold)
	h.Retire()
	ended := clock.Now()
	_, _, lost, gone := h.Part(false)
	if !gone {
		panic("nobody is left")
	}
	return func(ctx context.Context) error {
		return h.Tenant.Tenure.Base.Kind.Sharing.Vouch(ctx, h.Tenant.Tenure, ended, lost)
	}
}

// UnlockMissed is an Unlock that moves the tenure to the first waiter. That waiter leaves before it is told.
func UnlockMissed(ctx context.Context, given holds.Hold, leave func()) error {
	h := given.(*baselock.Hold)
	t := h.Tenant.Tenure
	h.Retire()
	h.Ending().End(errs.Released)
	if err := t.LockSend(ctx); err != nil {
		return err
	}
	defer t.UnlockSend()
	h.Part(true)
	cohort, claim, _ := t.Base.Session.Cohorts.Claim(t.Base.Line, &t.Post)
	grant, poll := giver{t}.HandOn(cohort, claim.Who())
	if grant == nil {
		panic("the waiter does not fit")
	}
	leave()
	if claim.Give(grant, poll) {
		panic("the waiter has it")
	}
	t.Vacate()
	return Plainly{}.GiveBack(ctx, t, baselock.ReleaseWithin(time.Second), true)
}

// Announced tells whether the calls of its process wait for what the hold does.
func Announced(given holds.Hold) bool {
	t := given.(*baselock.Hold).Tenant.Tenure
	_, held := t.Base.Session.Cohorts.HeldSince(t.Base.Line)
	return held
}

// Adjust has the tenant of the hold find out what is left of it.
func Adjust(given holds.Hold) { given.(*baselock.Hold).Tenant.Adjust() }
