package sides

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/locking"
)

// LookedAt acquires the lock with a tenure at which another call looks, to join it, before it is held and when it gives back
// its last one. It returns when the streak of the hold has begun, and whether the second look has begun one.
func LookedAt(ctx context.Context, b *baselock.Base) (given holds.Hold, began time.Time, late bool, err error) {
	set, err := b.Resolve(nil, true)
	if err != nil {
		return nil, began, false, err
	}
	t := baselock.NewTenure(b, set)
	look := func() {
		if h, old := joinedBy(t, set, nil); h != nil || old {
			panic("nobody may join it")
		}
	}
	look()
	h, _, err := locking.Ask(ctx, t, true)
	if err != nil {
		return nil, began, false, err
	}
	before := t.Streak
	t.Streak = nil
	t.Shared.Granted()
	t.Shared.Last()
	look()
	late = t.Streak != nil
	t.Shared, t.Streak = cohort.Share{}, before
	return h, t.OwnStreak().Began, late, nil
}
