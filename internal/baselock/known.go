package baselock

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Held is Inspect without the queue of a fair lock, which may be very long.
func (b *Base) Held(ctx context.Context) (redlatch.Info, error) {
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
		if b.Kind.Side.Of != nil {
			holder.Owner, holder.Side = b.Kind.Side.Of(field)
		}
		info.Holders = append(info.Holders, known.Tell(field, holder))
	}
	return info, nil
}

// Info is what is known about the lock without asking.
func (b *Base) Info() redlatch.Info {
	return redlatch.Info{Name: b.Name, Key: b.Key, Kind: b.Kind.Label, Waiters: int64(b.Session.Waiters(b.Line))}
}

// Known are the owners of one lock that this client keeps, by their fields, as Inspect names them.
type Known struct {
	base   *Base
	owners map[string]*Tenure
}

// Known finds them. It looks at all that the client holds, for nothing else needs them by their key.
func (b *Base) Known() Known {
	k := Known{b, map[string]*Tenure{}}
	b.Session.Watchdog.Kept(func(kept watchdog.Owner) {
		if t, ok := kept.(*Tenure); ok && t.Base.Key == b.Key {
			k.owners[t.Field()] = t
		}
	})
	return k
}

// Tell adds to the holder in a field what its own client knows.
func (k Known) Tell(field string, h redlatch.Holder) redlatch.Holder {
	h.Own = k.base.Own(h.Owner)
	if t := k.owners[field]; t != nil {
		t.Mu.Lock()
		h.Since, h.Token = t.Tenant.first.Since.Time(), t.Tenant.Token
		t.Mu.Unlock()
	}
	return h
}

// Own tells whether an identity is one of this client.
func (b *Base) Own(id string) bool { return strings.HasPrefix(id, b.Session.ID+":") }

// Ask runs a query.
func Ask[R any](ctx context.Context, b *Base, cmd scripts.Command[R]) (reply R, err error) {
	if b.Invalid != nil {
		return reply, b.Invalid
	}
	reply, _, err = delivery.Deliver(ctx, b.Session.Dispatch, cmd, delivery.Limit{Outage: b.Defaults.OutageFor(false)})
	if err != nil {
		return reply, b.Broken(err)
	}
	return reply, nil
}
