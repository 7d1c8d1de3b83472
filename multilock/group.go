package multilock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts/multilock"
)

// A Group is a lock of some values of one group: all of them or none, in one round trip, because they live in
// one key. Groups of the same name whose values are disjoint do not touch each other.
//
// Code that is given the context of a Hold takes the same values again, or some of them, without waiting; the
// whole set stays held until the last of these holds is given back. If it asks for values of which the hold
// has only some, it is refused at once with ErrNotReentrant, because it would wait for itself: take all of
// them at once instead.
//
// Redisson's getMultiLock(group, values) is the same lock if its client has a string codec. With any other
// codec, as by default, the two do not see each other.
type Group struct {
	_ [0]sync.Mutex // so that go vet finds copies

	base   *baselock.Base
	values []string
	fields []string // what the values are called in Redis, in the order of values
}

var (
	_ redlatch.Locker    = (*Group)(nil)
	_ redlatch.Inspector = (*Group)(nil)
)

// NewGroup makes a lock of these values of a group; a value that is given twice counts once. It does no I/O.
// It panics if the client is nil or of a kind that cannot carry locks; a bad name or option, or no values at
// all, is reported by the calls. Options: WithLease, WithMaxHold, WithAtLeast, WithWait, WithWatchdogTimeout,
// WithReplicas, and those that every primitive takes.
func NewGroup(client redlatch.Client, group string, values []string, opts ...redlatch.Option) *Group {
	g := &Group{values: slices.Compact(slices.Sorted(slices.Values(values)))}
	hashed := rootapi.For(opts).Hashed
	for _, value := range g.values {
		if !hashed {
			value = multilock.Field(value)
		}
		g.fields = append(g.fields, value)
	}
	g.base = baselock.New(client, group, grouped(g.fields), opts)
	g.base.Inspector = g
	if len(values) == 0 {
		g.base.Refuse(errs.Wrong("the group %q is locked with no values; give it at least one", group))
	}
	return g
}

// made is the base of a group that NewGroup has made.
func (g *Group) made() *baselock.Base {
	return errs.Made(g.base, "multilock.Group is used without NewGroup; make it by multilock.NewGroup")
}

// Name returns the name of the group.
func (g *Group) Name() string { return g.made().Name }

// Values returns the values, sorted, each once.
func (g *Group) Values() []string {
	g.made()
	return slices.Clone(g.values)
}

// Lock waits until all values are held, ctx ends, or the time of WithWait is over. With a context that
// carries a live hold of them it re-enters. ctx governs the wait and nothing else. While the server fails it
// goes on for as long as [redlatch.WithOutage] says.
func (g *Group) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	if err := g.overlap(ctx); err != nil {
		return nil, err
	}
	return locking.Lock(ctx, g.made(), opts)
}

// TryLock asks once. The error matches ErrNotAcquired when another holder has one of the values, or when
// other calls of this process wait for the same ones.
func (g *Group) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	if err := g.overlap(ctx); err != nil {
		return nil, err
	}
	return locking.TryLock(ctx, g.made(), opts)
}

// Do takes the lock, runs fn with the hold's context and gives the lock back; see [redlatch.Do].
func (g *Group) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error {
	return redlatch.Do(ctx, g, fn, opts...)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out while the
// lock is busy; see [redlatch.TryDo].
func (g *Group) TryDo(ctx context.Context, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	return redlatch.TryDo(ctx, g, fn, opts...)
}

// overlap is the refusal of a call whose context carries a hold of some of the values, and none of all of
// them. The base re-enters a hold of all, be it of others as well.
func (g *Group) overlap(ctx context.Context) error {
	partly := false
	for base := range locking.Carried(ctx, g.made()) {
		switch held := fieldsOf(base.Kind); {
		case contains(held, g.fields):
			return nil
		case slices.ContainsFunc(g.fields, func(field string) bool { return slices.Contains(held, field) }):
			partly = true
		}
	}
	if partly {
		return fmt.Errorf("%w: group %q: the hold in the context has some of these values but not all; "+
			"take all of them at once, or use redlatch.Detach", errs.NotReentrant, g.made().Name)
	}
	return nil
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(field string) bool { return !slices.Contains(all, field) })
}

// IsLocked reports whether any of the values is held, by this process or another.
func (g *Group) IsLocked(ctx context.Context) (bool, error) {
	return locking.IsLocked(ctx, g.made())
}

// HoldCount returns how many times the hold that ctx carries has taken all the values, 0 when it has not.
func (g *Group) HoldCount(ctx context.Context) (int64, error) {
	return locking.HoldCount(ctx, g.made())
}

// RemainingTTL returns how long it takes until all values are free if they are not renewed, 0 when they are
// free.
func (g *Group) RemainingTTL(ctx context.Context) (time.Duration, error) {
	return locking.RemainingTTL(ctx, g.made())
}

// ForceUnlock takes the values from their holders, in this process or another, and reports whether any was
// held. A holder that loses one of its values in this way loses all of them, and learns of it within a third
// of the watchdog timeout plus a second.
func (g *Group) ForceUnlock(ctx context.Context) (bool, error) {
	return locking.ForceUnlock(ctx, g.made())
}

// Inspect returns which of the values are held: a Holder for each of them, with the value in Value, in the
// order of Values. Values that are free are not among them.
func (g *Group) Inspect(ctx context.Context) (redlatch.Info, error) {
	holders, err := baselock.Ask(ctx, g.made(), multilock.Inspect(g.made().Key, g.fields))
	if err != nil {
		return redlatch.Info{}, err
	}
	info, known := g.made().Info(), g.made().Known()
	for i, h := range holders {
		if h.Owner == "" {
			continue
		}
		info.Exists, info.TTL = true, max(info.TTL, h.TTL)
		info.Holders = append(info.Holders, known.Tell(h.Owner,
			redlatch.Holder{Owner: h.Owner, Holds: h.Holds, Value: g.values[i], TTL: h.TTL}))
	}
	return info, nil
}
