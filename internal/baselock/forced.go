package baselock

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// ForceUnlockFrom frees the lock from one owner, with all its holds, and tells whether it had any. Whoever else holds it keeps it.
// The owner learns of it as of any loss, and is told who did it and why. As that of [Base.ForceUnlock], the command is not sent again
// when its outcome is unknown.
func (b *Base) ForceUnlockFrom(ctx context.Context, owner string, holds int64, who, why string) (bool, error) {
	if b.invalid != nil {
		return false, b.invalid
	}
	limit := delivery.Limit{Outage: b.defaults.OutageFor(false)}
	if err := b.ready(ctx, limit.Outage); err != nil {
		return false, b.broken(err)
	}
	// The notice comes first, for the owner may find out at once.
	if _, _, err := delivery.Deliver(ctx, b.Session.Dispatch, notice.Leave(b.Key, owner, who, why), limit); err != nil {
		return false, b.broken(fmt.Errorf("nothing was freed, because the notice for the owner could not be left: %w", err))
	}
	b.Session.Cohorts.Void(b.line)
	limit.Once = true
	cmd := b.Kind.Release(Subject{Key: b.Key, Owner: owner + b.Kind.side().Field, Most: int(holds), Wake: b.wake()})
	freed, _, err := delivery.Deliver(ctx, b.Session.Dispatch, cmd, limit)
	switch {
	case err == nil && freed:
		return true, nil
	case err != nil && delivery.AsFailure(err).Doubt:
		return false, b.broken(fmt.Errorf("%w: %w", errs.Uncertain, err))
	}
	failed := err
	if _, err := Ask(context.WithoutCancel(ctx), b, notice.Withdraw(b.Key, owner)); err != nil && failed == nil {
		return false, fmt.Errorf("the owner held nothing, but a notice says for an hour that it was freed: %w", err)
	}
	if failed != nil {
		return false, b.broken(failed)
	}
	return false, nil
}

// forced adds to a loss who has taken the lock away, if that was said.
func (o *owner) forced(loss *redlatch.LossError) *redlatch.LossError {
	if loss.Reason != watchdog.NotOwned || loss.Cause != nil || loss.Forced != "" {
		return loss
	}
	by := o.base.Session.Forced(o.base.background(o.set), o.base.Key, o.id)
	if by == "" {
		return loss
	}
	told := *loss
	told.Forced = by
	o.mu.Lock()
	o.lost = &told
	o.mu.Unlock()
	return &told
}
