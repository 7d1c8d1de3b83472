package composite

import (
	"cmp"
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// UnlockAll gives back what [Joins] joins with one command, which does for each lock what a release by itself
// does. It returns what went wrong with each. It answers nil, and nothing has happened, where one command
// cannot do it: one of the locks is re-entered, has a command under way, or is waited for in this process.
func UnlockAll(ctx context.Context, members []holds.Member) (failures []error) {
	all := make([]*baselock.Hold, 0, len(members))
	for _, member := range members {
		h := member.Hold.(*baselock.Hold)
		entered := h.Tenant.Tenure.TryLockSend()
		if entered {
			all = append(all, h)
		}
		if !entered || !goesAlone(h) {
			for _, h := range all {
				h.Tenant.Tenure.UnlockSend()
			}
			return nil
		}
	}
	failures = releaseAll(ctx, all)
	for i, h := range all {
		failures[i] = h.Explain(failures[i])
		h.Finish(ctx, redlatch.EventReleased, failures[i])
	}
	return failures
}

// Joins tells whether one command can give back both.
func Joins(a, b holds.Hold) bool {
	first, ok := a.(*baselock.Hold)
	second, also := b.(*baselock.Hold)
	return ok && also && Together(first.Tenant.Tenure.Base, second.Tenant.Tenure.Base)
}

// goesAlone tells whether the release of h concerns its owner and other processes only. The caller has the
// send lock.
func goesAlone(h *baselock.Hold) bool {
	t := h.Tenant.Tenure
	waited, _, _ := t.Base.Session.Cohorts.Busy(t.Base.Line, false)
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return !waited && t.Base.Kind.Moves() && h.SoleLocked() && h.Tenant.Set.AtLeast == 0
}

// releaseAll releases locks of which the caller has the send locks, which it gives back.
func releaseAll(ctx context.Context, all []*baselock.Hold) (failures []error) {
	failures = make([]error, len(all))
	answered := 0
	defer func() { // also when a hook of the client panics
		for i, h := range all {
			if i >= answered {
				h.Tenant.Tenure.Pending()
			}
			h.Tenant.Tenure.Unannounce(false)
			h.Tenant.Tenure.UnlockSend()
		}
	}()
	for i, h := range all {
		h.Retire()
		h.Ending().End(errs.Released)
		_, _, failures[i], _ = h.Part(true) // the loss, if it came at this moment
		h.Tenant.Tenure.Forget()
	}
	limit, start := baselock.ReleaseWithin(all[0].Tenant.Set.ReleaseTimeout), time.Now()
	limit.Stubborn, limit.Apart = false, true
	releases, receipt, err := passAll(ctx, all, limit)
	var f *delivery.Failure
	if err != nil {
		f = delivery.AsFailure(err)
	}
	apart := f != nil && (!f.Doubt || f.Over) && separable(f.Err)
	for i, h := range all {
		t := h.Tenant.Tenure
		switch {
		case apart:
			single := baselock.ReleaseWithin(max(time.Millisecond, limit.Total-time.Since(start)))
			if !outcome.Apart(f.Err) && !outcome.Final(f.Err) {
				single.Refused = f.Err // in the last step of one of them, perhaps
			}
			err = releaseOnly(ctx, t, single)
		case f != nil:
			err = t.GaveBack(false, receipt, f)
		default:
			locking.LeftOpen(t.Base, releases[i])
			err = t.GaveBack(releases[i].Freed, receipt, nil)
		}
		if failures[i] == nil {
			failures[i] = err
		}
		answered = i + 1
	}
	return failures
}

func passAll(ctx context.Context, all []*baselock.Hold, limit delivery.Limit) ([]row.Release, delivery.Receipt, error) {
	locks := make([]row.Given, len(all))
	publish, open := "", time.Duration(0)
	for i, h := range all {
		t := h.Tenant.Tenure
		publish = cmp.Or(publish, t.Base.Wake().Publish)
		locks[i] = row.Given{Key: t.Base.Key, Owner: t.Field(), Channel: t.Base.Channel, Turn: locking.Turn(t)}
		open = max(open, locks[i].Turn.Open)
	}
	for i := range locks { // an outsider may wait for any of them
		locks[i].Turn.Open = open
	}
	return delivery.Within(ctx, all[0].Tenant.Tenure.Base.Session.Dispatch, row.PassAll(locks, publish), limit)
}

// separable tells whether a server that refused a script for several keys may take those for one key each.
func separable(err error) bool {
	class := outcome.Of(err)
	return class == outcome.Hopeless || class == outcome.Cut || outcome.Apart(err)
}

// releaseOnly gives the lock to no waiter of this process. Another script may have released it already.
func releaseOnly(ctx context.Context, t *baselock.Tenure, limit delivery.Limit) error {
	if t.Base.Row == "" {
		return locking.Release(ctx, t, limit)
	}
	_, err := locking.HandOffRemotely(ctx, t, limit, cohort.Release{})
	return err
}
