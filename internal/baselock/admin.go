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
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Status asks whether the lock is held, for how long, and how often by the hold that ctx carries.
func (b *Base) Status(ctx context.Context) (scripts.Status, error) {
	s := Subject{Key: b.Key} // no owner has an empty name
	if c := b.carried(ctx); c != nil {
		s.Owner = c.tenure.field()
	}
	return Ask(ctx, b, b.Kind.Status(s))
}

// IsLocked tells whether any owner holds the lock.
func (b *Base) IsLocked(ctx context.Context) (bool, error) {
	status, err := b.Status(ctx)
	return status.Exists, err
}

// HoldCount is how often the hold that ctx carries has the lock, by what Redis says.
func (b *Base) HoldCount(ctx context.Context) (int64, error) {
	c := b.carried(ctx)
	if c == nil {
		return 0, b.invalid
	}
	status, err := b.Status(ctx)
	if status.Holds > 0 && c.tenure.base.Kind.Sharing != nil {
		return c.heldIn(ctx), err
	}
	return status.Holds, err
}

// RemainingTTL is how long the lock lasts if it is not renewed.
func (b *Base) RemainingTTL(ctx context.Context) (time.Duration, error) {
	status, err := b.Status(ctx)
	return status.TTL, err
}

// ForceUnlock frees the lock from any holder, and tells whether there was one. The holder learns of it as of
// any loss. The command is not sent again when its outcome is unknown, because it would take the lock from
// the next holder.
func (b *Base) ForceUnlock(ctx context.Context) (bool, error) {
	return b.force(ctx, func(wake scripts.Wake) scripts.Command[bool] {
		return b.Kind.Force(Subject{Key: b.Key, Wake: wake})
	})
}

// force sends a command that takes the lock away, once.
func (b *Base) force(ctx context.Context, cmd func(scripts.Wake) scripts.Command[bool]) (freed bool, err error) {
	if b.invalid != nil {
		return false, b.invalid
	}
	limit := delivery.Limit{Outage: b.defaults.OutageFor(false), Once: true}
	if err := b.ready(ctx, limit.Outage); err != nil {
		return false, b.broken(err)
	}
	b.Session.Cohorts.Take()       // so no waiter of this process is handed the lock without a command any more
	defer b.Session.Cohorts.Take() // what was confirmed meanwhile is old too
	freed, _, err = delivery.Deliver(ctx, b.Session.Dispatch, cmd(b.wake()), limit)
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
	info, err := b.held(ctx)
	if err != nil || b.Kind.Queued == nil {
		return info, err
	}
	queued, err := Ask(ctx, b, b.Kind.Queued(b.Key))
	if err != nil {
		return redlatch.Info{}, err
	}
	for _, id := range queued {
		info.Queue = append(info.Queue, redlatch.Waiter{Owner: id, Own: b.own(id)})
	}
	return info, nil
}

// held is Inspect without the queue of a fair lock, which may be very long.
func (b *Base) held(ctx context.Context) (redlatch.Info, error) {
	state, err := Ask(ctx, b, b.Kind.Inspect(b.Key))
	if err != nil {
		return redlatch.Info{}, err
	}
	info := b.Info()
	info.Exists, info.TTL = state.Exists, state.TTL
	known := b.Known()
	for _, field := range slices.Sorted(maps.Keys(state.Fields)) {
		holds, err := scripts.Number(state.Fields[field])
		if err != nil {
			continue // the mode of a read-write lock, not a holder
		}
		holder := redlatch.Holder{Owner: field, Holds: holds, TTL: state.TTL}
		if ttl, own := state.TTLs[field]; own {
			holder.TTL = ttl
		}
		if b.Kind.side().Of != nil {
			holder.Owner, holder.Side = b.Kind.side().Of(field)
		}
		info.Holders = append(info.Holders, known.Tell(field, holder))
	}
	return info, nil
}

// Info is what is known about the lock without asking.
func (b *Base) Info() redlatch.Info {
	return redlatch.Info{Name: b.Name, Key: b.Key, Kind: b.Kind.Label, Waiters: int64(b.Session.Waiters(b.line))}
}

// Known are the owners of one lock that this client keeps, by their fields, as Inspect names them.
type Known struct {
	base   *Base
	owners map[string]*tenure
}

// Known finds them. It looks at all that the client holds, for nothing else needs them by their key.
func (b *Base) Known() Known {
	k := Known{b, map[string]*tenure{}}
	b.Session.Watchdog.Kept(func(kept watchdog.Owner) {
		if t, ok := kept.(*tenure); ok && t.base.Key == b.Key {
			k.owners[t.field()] = t
		}
	})
	return k
}

// Tell adds to the holder in a field what its own client knows.
func (k Known) Tell(field string, h redlatch.Holder) redlatch.Holder {
	h.Own = k.base.own(h.Owner)
	if t := k.owners[field]; t != nil {
		t.mu.Lock()
		h.Since, h.Token = t.tenant.first.Since.Time(), t.tenant.token
		t.mu.Unlock()
	}
	return h
}

// own tells whether an identity is one of this client.
func (b *Base) own(id string) bool { return strings.HasPrefix(id, b.Session.ID+":") }

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
