package locking

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/notice"
)

// ForceUnlockFrom frees the lock from one owner, with all its holds, and tells whether it had any. Whoever
// else holds it keeps it. The owner learns of it as of any loss, and is told who did it and why. As that of
// [Base.ForceUnlock], the command is not sent again when its outcome is unknown.
func ForceUnlockFrom(ctx context.Context, b *baselock.Base, owner string, holds int64, who, why string) (bool, error) {
	// The notice comes first, for the owner may find out at once.
	if _, err := baselock.Ask(ctx, b, notice.Leave(b.Key, owner, who, why)); err != nil {
		return false, fmt.Errorf("nothing was freed, because the notice for the owner could not be left: %w", err)
	}
	freed, err := force(ctx, b, func(wake scripts.Wake) scripts.Command[bool] {
		return b.Kind.Release(baselock.Subject{Key: b.Key, Owner: owner + b.Kind.Side.Field, Most: int(holds), Wake: wake})
	})
	if freed || errors.Is(err, errs.Uncertain) {
		return freed, err
	}
	if _, kept := baselock.Ask(context.WithoutCancel(ctx), b, notice.Withdraw(b.Key, owner)); kept != nil && err == nil {
		err = fmt.Errorf("the owner held nothing, but a notice says for an hour that it was freed: %w", kept)
	}
	return false, err
}
