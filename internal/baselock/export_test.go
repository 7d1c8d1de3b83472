package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/holds"
)

// Slip is the first half of an Unlock that leaves others of its owner behind. It returns the second half.
func Slip(given holds.Hold) (vouch func(context.Context) error) {
	h := given.(*hold)
	h.retire()
	ended := clock.Now()
	left, lost := h.slip()
	if !left {
		panic("nobody is left")
	}
	return func(ctx context.Context) error { return h.owner.vouch(ctx, ended, lost) }
}

// HandOnMissed hands the lock on to the first waiter, which leaves before it has got it. It reports whether the holder goes on as it.
func HandOnMissed(given holds.Hold, leave func()) bool {
	o := given.(*hold).owner
	cohort, claim, _ := o.base.Session.Cohorts.Claim(o.base.line, &o.post)
	grant, poll := o.HandOn(cohort, claim.Who())
	leave()
	if claim.Give(grant, poll) {
		panic("the waiter has it")
	}
	return o.Missed(grant) == o
}

// LookedAt acquires the lock with an owner at which another call looks, to join it, before the owner has its hold and when it gives back
// its last one. It returns when the streak of the hold has begun, and whether the second look has begun one.
func LookedAt(ctx context.Context, b *Base) (given holds.Hold, began time.Time, late bool, err error) {
	set, err := b.resolve(nil, true)
	if err != nil {
		return nil, began, false, err
	}
	o := newOwner(b, set)
	look := func() {
		if h, old := o.joinedBy(set, nil); h != nil || old {
			panic("nobody may join it")
		}
	}
	look()
	h, _, err := b.ask(ctx, o, true)
	if err != nil {
		return nil, began, false, err
	}
	before := o.streak
	o.streak = nil
	o.shared.Granted()
	o.shared.Last()
	look()
	late = o.streak != nil
	o.shared, o.streak = cohort.Share{}, before
	return h, o.Streak().Began, late, nil
}

// Announced tells whether the calls of its process wait for what the hold does.
func Announced(given holds.Hold) bool {
	o := given.(*hold).owner
	_, held := o.base.Session.Cohorts.HeldSince(o.base.line)
	return held
}
