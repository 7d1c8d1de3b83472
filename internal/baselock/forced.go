package baselock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// ForceUnlockFrom frees the lock from one owner, with all its holds, and tells whether it had any. Whoever else holds it keeps it.
// The owner learns of it as of any loss, and is told who did it and why. As that of [Base.ForceUnlock], the command is not sent again
// when its outcome is unknown.
func (b *Base) ForceUnlockFrom(ctx context.Context, owner string, holds int64, who, why string) (bool, error) {
	// The notice comes first, for the owner may find out at once.
	if _, err := Ask(ctx, b, notice.Leave(b.Key, owner, who, why)); err != nil {
		return false, fmt.Errorf("nothing was freed, because the notice for the owner could not be left: %w", err)
	}
	freed, err := b.force(ctx, func(wake scripts.Wake) scripts.Command[bool] {
		return b.Kind.Release(Subject{Key: b.Key, Owner: owner + b.Kind.side().Field, Most: int(holds), Wake: wake})
	})
	if freed || errors.Is(err, errs.Uncertain) {
		return freed, err
	}
	if _, kept := Ask(context.WithoutCancel(ctx), b, notice.Withdraw(b.Key, owner)); kept != nil && err == nil {
		err = fmt.Errorf("the owner held nothing, but a notice says for an hour that it was freed: %w", kept)
	}
	return false, err
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
