package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
)

// Slip is the first half of an Unlock that leaves others of its tenant behind. It returns the second half.
func Slip(given holds.Hold) (vouch func(context.Context) error) {
	h := given.(*hold)
	h.retire()
	ended := clock.Now()
	_, _, lost, gone := h.part(false)
	if !gone {
		panic("nobody is left")
	}
	return func(ctx context.Context) error {
		return h.tenant.tenure.base.Kind.Sharing.Vouch(ctx, h.tenant.tenure, ended, lost)
	}
}

// UnlockMissed is an Unlock that moves the tenure to the first waiter. That waiter leaves before it is told.
func UnlockMissed(ctx context.Context, given holds.Hold, leave func()) error {
	h := given.(*hold)
	t := h.tenant.tenure
	h.retire()
	h.Ending().End(errs.Released)
	left, err := t.lockSendToRelease(ctx, time.Second)
	if err != nil {
		return err
	}
	h.part(true)
	cohort, claim, _ := t.base.Session.Cohorts.Claim(t.base.line, &t.post)
	grant, poll := t.HandOn(cohort, claim.Who())
	if grant == nil {
		panic("the waiter does not fit")
	}
	leave()
	if claim.Give(grant, poll) {
		panic("the waiter has it")
	}
	t.Missed(grant)
	return t.giveBackTo(ctx, 0, true, releaseWithin(left))
}

// LookedAt acquires the lock with a tenure at which another call looks, to join it, before it is held and when it gives back
// its last one. It returns when the streak of the hold has begun, and whether the second look has begun one.
func LookedAt(ctx context.Context, b *Base) (given holds.Hold, began time.Time, late bool, err error) {
	set, err := b.resolve(nil, true)
	if err != nil {
		return nil, began, false, err
	}
	t := newTenure(b, set)
	look := func() {
		if h, old := t.joinedBy(set, nil); h != nil || old {
			panic("nobody may join it")
		}
	}
	look()
	h, _, err := b.ask(ctx, t, true)
	if err != nil {
		return nil, began, false, err
	}
	before := t.streak
	t.streak = nil
	t.shared.Granted()
	t.shared.Last()
	look()
	late = t.streak != nil
	t.shared, t.streak = cohort.Share{}, before
	return h, t.Streak().Began, late, nil
}

// Announced tells whether the calls of its process wait for what the hold does.
func Announced(given holds.Hold) bool {
	t := given.(*hold).tenant.tenure
	_, held := t.base.Session.Cohorts.HeldSince(t.base.line)
	return held
}

// Adjust has the tenant of the hold find out what is left of it.
func Adjust(given holds.Hold) { given.(*hold).tenant.adjust() }
