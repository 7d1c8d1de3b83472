package locking

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// Lock waits until the lock is held.
func Lock(ctx context.Context, b *baselock.Base, opts []redlatch.Option) (*redlatch.Hold, error) {
	return take(ctx, b, opts, false)
}

// TryLock asks once.
func TryLock(ctx context.Context, b *baselock.Base, opts []redlatch.Option) (*redlatch.Hold, error) {
	return take(ctx, b, opts, true)
}

func take(ctx context.Context, b *baselock.Base, opts []redlatch.Option, try bool) (*redlatch.Hold, error) {
	set, err := b.Resolve(opts, try)
	if err != nil {
		return nil, err
	}
	if set.Meet != nil {
		set.Meet(b)
		return nil, errMet
	}
	if set.Recognize != nil {
		set.Recognize(func(inner any) bool { return recognizes(b, inner) })
		return nil, errMet
	}
	call := b.Call(ctx, set)
	defer call.Left()
	if call != nil {
		ctx = call.Context
	}
	ctx, cancel := set.Waiting(ctx, try)
	defer cancel()
	h, err := reenter(ctx, b, set, try || set.Once)
	if err == baselock.ErrOver {
		h, err = b.Kind.Ways.Acquire(ctx, b, set, try || set.Once)
	}
	if err != nil {
		err = Explain(ctx, b, err)
		call.Refused(err)
		return nil, err
	}
	h.Tell(call)
	return rootapi.Hold[*redlatch.Hold](h, holds.Acquired(h, 2)), nil // above are Lock and that of the primitive
}

// reenter re-enters through the hold of this lock that ctx carries. It answers ErrOver where there is none.
func reenter(ctx context.Context, b *baselock.Base, set *settings.Settings, try bool) (*baselock.Hold, error) {
	if err := b.Ready(ctx, set.OutageFor(try)); err != nil {
		return nil, err
	}
	c := carried(ctx, b)
	switch {
	case c == nil:
		return nil, baselock.ErrOver
	case !b.Kind.Reentrant:
		return nil, fmt.Errorf("%w: lock %q; use another context, or redlatch.Detach", errs.NotReentrant, b.Name)
	}
	return c.Reenter(ctx, set, try)
}

// errMet ends a call that was made to find the base of a lock, and not to acquire it.
var errMet = errors.New("redlatch: the lock was only asked what it stands on")

// Of returns the base of a lock, which must be of a type of this module, nil if that is a composite.
func Of(lock redlatch.Locker) (base *baselock.Base) {
	_, _ = lock.TryLock(context.Background(), rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		s.Meet = func(b any) { base = b.(*baselock.Base) }
	}))
	return base
}

// CarriedOn finds the tenant on one side of this lock that ctx carries. Holds that are over do not count.
func CarriedOn(ctx context.Context, b *baselock.Base, side string) *baselock.Tenant {
	for carried := range baselock.HoldsIn(ctx) {
		if carried.Tenant.Tenure.Of(b, side) && carried.Live() {
			return carried.Tenant
		}
	}
	return nil
}

// carried finds the tenant that re-enters: the one on this side, or the guest of the one that admits this
// side.
func carried(ctx context.Context, b *baselock.Base) *baselock.Tenant {
	c := CarriedOn(ctx, b, b.Kind.Side.Name)
	if c != nil || b.Kind.Side.Within == "" {
		return c
	}
	if host := CarriedOn(ctx, b, b.Kind.Side.Within); host != nil {
		if guest := host.Tenure.Resident(); guest != nil && guest.First.Holds() {
			return &guest.First
		}
	}
	return nil
}

// recognizes tells whether inner is a live hold of this lock, with which a call re-enters.
func recognizes(b *baselock.Base, inner any) bool {
	h, ok := inner.(*baselock.Hold)
	return ok && h.Tenant.Tenure.Of(b, b.Kind.Side.Name) && h.Live()
}

// Carries tells whether ctx carries a live hold of this lock.
func Carries(ctx context.Context, b *baselock.Base) bool { return carried(ctx, b) != nil }

// Carried yields, for each live hold that ctx carries of a lock at b's key through b's client, the base on
// which it was acquired, the innermost first. A lock of which several kinds share a key finds out so what its
// caller has.
func Carried(ctx context.Context, b *baselock.Base) iter.Seq[*baselock.Base] {
	return func(yield func(*baselock.Base) bool) {
		for h := range baselock.HoldsIn(ctx) {
			other := h.Tenant.Tenure.Base
			if other.Session == b.Session && other.Key == b.Key && h.Live() && !yield(other) {
				return
			}
		}
	}
}
