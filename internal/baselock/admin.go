package baselock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
)

// Status asks whether the lock is held, for how long, and how often by the hold that ctx carries.
func (b *Base) Status(ctx context.Context) (scripts.Status, error) {
	s := Subject{Key: b.Key} // no owner has an empty name
	if o := b.carried(ctx); o != nil {
		s.Owner = o.field()
	}
	return Ask(ctx, b, b.Kind.Status(s))
}

// IsLocked tells whether anybody holds the lock.
func (b *Base) IsLocked(ctx context.Context) (bool, error) {
	status, err := b.Status(ctx)
	return status.Exists, err
}

// HoldCount is how often the hold that ctx carries has the lock, by what Redis says.
func (b *Base) HoldCount(ctx context.Context) (int64, error) {
	if b.carried(ctx) == nil {
		return 0, b.invalid
	}
	status, err := b.Status(ctx)
	return status.Holds, err
}

// RemainingTTL is how long the lock lasts if nobody renews it.
func (b *Base) RemainingTTL(ctx context.Context) (time.Duration, error) {
	status, err := b.Status(ctx)
	return status.TTL, err
}

// ForceUnlock frees the lock whoever holds it, and tells whether somebody did. The holder learns of it as of any loss. It
// is not sent again when its outcome is unknown, for it would throw out whoever came next.
func (b *Base) ForceUnlock(ctx context.Context) (bool, error) {
	if b.invalid != nil {
		return false, b.invalid
	}
	limit := delivery.Limit{Outage: b.defaults.OutageFor(false), Once: true}
	wake, err := b.wakeFor(ctx, limit.Outage)
	if err != nil {
		return false, b.broken(err)
	}
	freed, _, err := delivery.Deliver(ctx, b.Session.Dispatch, b.Kind.Force(Subject{Key: b.Key, Wake: wake}), limit)
	switch {
	case err == nil:
		return freed, nil
	case delivery.AsFailure(err).Doubt:
		err = fmt.Errorf("%w: %w", errs.Uncertain, err)
	}
	return false, b.broken(err)
}

// Inspect tells everything that Redis knows about the lock.
func (b *Base) Inspect(ctx context.Context) (redlatch.Info, error) {
	state, err := Ask(ctx, b, rlock.Inspect(b.Key))
	if err != nil {
		return redlatch.Info{}, err
	}
	info := redlatch.Info{Name: b.Name, Key: b.Key, TTL: state.TTL, Waiters: b.Waiters()}
	for _, field := range slices.Sorted(maps.Keys(state.Fields)) {
		holds, err := scripts.Number(state.Fields[field])
		if err != nil {
			continue // the mode of a read-write lock, not a holder
		}
		holder := redlatch.Holder{Owner: field, Holds: holds, Own: strings.HasPrefix(field, b.Session.ID+":")}
		if b.Kind.Sides != nil {
			holder.Owner, holder.Side = b.Kind.Sides(field)
		}
		info.Holders = append(info.Holders, holder)
	}
	if b.Kind.Queued != nil {
		info.Queue, err = Ask(ctx, b, b.Kind.Queued(b.Key))
	}
	return info, err
}

// Waiters is how many calls of this process wait for the lock.
func (b *Base) Waiters() int { return b.Session.Waiters(b.line) }

// Ask runs a query.
func Ask[R any](ctx context.Context, b *Base, cmd scripts.Command[R]) (reply R, err error) {
	if b.invalid != nil {
		return reply, b.invalid
	}
	reply, _, err = delivery.Deliver(ctx, b.Session.Dispatch, cmd, delivery.Limit{Outage: b.defaults.OutageFor(false)})
	if err != nil {
		return reply, b.broken(err)
	}
	return reply, nil
}
