package locking

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
)

// Status asks whether the lock is held, for how long, and how often by the hold that ctx carries.
func Status(ctx context.Context, b *baselock.Base) (scripts.Status, error) {
	s := baselock.Subject{Key: b.Key} // no owner has an empty name
	if c := carried(ctx, b); c != nil {
		s.Owner = c.Tenure.Field()
	}
	return baselock.Ask(ctx, b, b.Kind.Status(s))
}

// IsLocked tells whether any owner holds the lock.
func IsLocked(ctx context.Context, b *baselock.Base) (bool, error) {
	status, err := Status(ctx, b)
	return status.Exists, err
}

// HoldCount is how often the hold that ctx carries has the lock, by what Redis says.
func HoldCount(ctx context.Context, b *baselock.Base) (int64, error) {
	c := carried(ctx, b)
	if c == nil {
		return 0, b.Invalid
	}
	status, err := Status(ctx, b)
	if status.Holds > 0 && c.Tenure.Base.Kind.Sharing != nil {
		return c.HeldIn(ctx), err
	}
	return status.Holds, err
}

// RemainingTTL is how long the lock lasts if it is not renewed.
func RemainingTTL(ctx context.Context, b *baselock.Base) (time.Duration, error) {
	status, err := Status(ctx, b)
	return status.TTL, err
}

// ForceUnlock frees the lock from any holder, and tells whether there was one. The holder learns of it as of
// any loss. The command is not sent again when its outcome is unknown, because it would take the lock from
// the next holder.
func ForceUnlock(ctx context.Context, b *baselock.Base) (bool, error) {
	return force(ctx, b, func(wake scripts.Wake) scripts.Command[bool] {
		return b.Kind.Force(baselock.Subject{Key: b.Key, Wake: wake})
	})
}

// force sends a command that takes the lock away, once.
func force(ctx context.Context, b *baselock.Base,
	cmd func(scripts.Wake) scripts.Command[bool]) (freed bool, err error) {
	if b.Invalid != nil {
		return false, b.Invalid
	}
	limit := delivery.Limit{Outage: b.Defaults.OutageFor(false), Once: true}
	if err := b.Ready(ctx, limit.Outage); err != nil {
		return false, b.Broken(err)
	}
	b.Session.Cohorts.Take()       // so no waiter of this process is handed the lock without a command any more
	defer b.Session.Cohorts.Take() // what was confirmed meanwhile is old too
	freed, _, err = delivery.Deliver(ctx, b.Session.Dispatch, cmd(b.Wake()), limit)
	switch {
	case err == nil:
		return freed, nil
	case delivery.AsFailure(err).Doubt:
		err = fmt.Errorf("%w: %w", errs.Uncertain, err)
	}
	return false, b.Broken(err)
}

// Inspect tells everything that Redis knows about the lock.
func Inspect(ctx context.Context, b *baselock.Base) (redlatch.Info, error) {
	info, err := b.Held(ctx)
	if err != nil || b.Kind.Queued == nil {
		return info, err
	}
	queued, err := baselock.Ask(ctx, b, b.Kind.Queued(b.Key))
	if err != nil {
		return redlatch.Info{}, err
	}
	for _, id := range queued {
		info.Queue = append(info.Queue, redlatch.Waiter{Owner: id, Own: b.Own(id)})
	}
	return info, nil
}
