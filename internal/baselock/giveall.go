package baselock

import (
	"cmp"
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// UnlockAll gives back what [Joins] joins with one command, which does for each lock what a release by itself
// does. It returns what went wrong with each. It answers nil, and nothing has happened, where one command
// cannot do it: one of the locks is re-entered, has a command under way, or is waited for in this process.
func UnlockAll(ctx context.Context, members []holds.Member) (failures []error) {
	all := make([]*hold, 0, len(members))
	for _, member := range members {
		h := member.Hold.(*hold)
		entered := h.tenant.tenure.tryLockSend()
		if entered {
			all = append(all, h)
		}
		if !entered || !h.goesAlone() {
			for _, h := range all {
				h.tenant.tenure.unlockSend()
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
	first, ok := a.(*hold)
	second, also := b.(*hold)
	return ok && also && first.tenant.tenure.base.Together(second.tenant.tenure.base)
}

// goesAlone tells whether the release of h concerns its owner and other processes only. The caller has the
// send lock.
func (h *hold) goesAlone() bool {
	t := h.tenant.tenure
	waited, _, _ := t.base.Session.Cohorts.Busy(t.base.line, false)
	t.mu.Lock()
	defer t.mu.Unlock()
	return !waited && t.base.Kind.moves() && h.soleLocked() && h.tenant.set.AtLeast == 0
}

// releaseAll releases locks of which the caller has the send locks, which it gives back.
func releaseAll(ctx context.Context, all []*hold) (failures []error) {
	failures = make([]error, len(all))
	answered := 0
	defer func() { // also when a hook of the client panics
		for i, h := range all {
			if i >= answered {
				h.tenant.tenure.pending()
			}
			h.tenant.tenure.unannounce(false)
			h.tenant.tenure.unlockSend()
		}
	}()
	for i, h := range all {
		h.retire()
		h.Ending().End(errs.Released)
		_, _, failures[i], _ = h.part(true) // the loss, if it came at this moment
		h.tenant.tenure.forget()
	}
	limit, start := releaseWithin(all[0].tenant.set.ReleaseTimeout), time.Now()
	limit.Stubborn, limit.Apart = false, true
	releases, receipt, err := passAll(ctx, all, limit)
	var f *delivery.Failure
	if err != nil {
		f = delivery.AsFailure(err)
	}
	apart := f != nil && (!f.Doubt || f.Over) && separable(f.Err)
	for i, h := range all {
		t := h.tenant.tenure
		switch {
		case apart:
			single := releaseWithin(max(time.Millisecond, limit.Total-time.Since(start)))
			if !outcome.Apart(f.Err) && !outcome.Final(f.Err) {
				single.Refused = f.Err // in the last step of one of them, perhaps
			}
			err = t.releaseOnly(ctx, single)
		case f != nil:
			err = t.gaveBack(false, receipt, f)
		default:
			t.base.leftOpen(releases[i])
			err = t.gaveBack(releases[i].Freed, receipt, nil)
		}
		if failures[i] == nil {
			failures[i] = err
		}
		answered = i + 1
	}
	return failures
}

func passAll(ctx context.Context, all []*hold, limit delivery.Limit) ([]row.Release, delivery.Receipt, error) {
	locks := make([]row.Given, len(all))
	publish, open := "", time.Duration(0)
	for i, h := range all {
		t := h.tenant.tenure
		publish = cmp.Or(publish, t.base.wake().Publish)
		locks[i] = row.Given{Key: t.base.Key, Owner: t.field(), Channel: t.base.channel, Turn: t.turn()}
		open = max(open, locks[i].Turn.Open)
	}
	for i := range locks { // an outsider may wait for any of them
		locks[i].Turn.Open = open
	}
	return delivery.Within(ctx, all[0].tenant.tenure.base.Session.Dispatch, row.PassAll(locks, publish), limit)
}

// separable tells whether a server that refused a script for several keys may take those for one key each.
func separable(err error) bool {
	class := outcome.Of(err)
	return class == outcome.Hopeless || class == outcome.Cut || outcome.Apart(err)
}

// releaseOnly gives the lock to no waiter of this process. Another script may have released it already.
func (t *tenure) releaseOnly(ctx context.Context, limit delivery.Limit) error {
	if t.base.row == "" {
		return t.release(ctx, limit)
	}
	_, err := t.handOffRemotely(ctx, limit, cohort.Release{})
	return err
}
