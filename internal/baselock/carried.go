package baselock

import (
	"context"
	"iter"
	"slices"

	"github.com/redlatch/redlatch/internal/holds"
)

// holdsIn are the holds of locks on this base that ctx carries, the innermost first. Those of a multi-lock or
// redlock are among them: a call that did not find them would wait for the hold of its own context.
func holdsIn(ctx context.Context) iter.Seq[*hold] {
	return func(yield func(*hold) bool) {
		for carried := range holds.Carried(ctx) {
			if !yieldHolds(carried, yield) {
				return
			}
		}
	}
}

// yieldHolds yields a hold of this base, or those that a composite stands on, and tells whether to go on.
func yieldHolds(carried holds.Hold, yield func(*hold) bool) bool {
	switch h := carried.(type) {
	case *hold:
		return yield(h)
	case holds.Composite:
		for _, member := range slices.Backward(h.Members()) {
			if !yieldHolds(member, yield) {
				return false
			}
		}
	}
	return true
}

// carriedOn finds the tenant on one side of this lock that ctx carries. Holds that are over do not count.
func (b *Base) carriedOn(ctx context.Context, side string) *tenant {
	for carried := range holdsIn(ctx) {
		if carried.tenant.tenure.of(b, side) && carried.live() {
			return carried.tenant
		}
	}
	return nil
}

// carried finds the tenant that re-enters: the one on this side, or the guest of the one that admits this
// side.
func (b *Base) carried(ctx context.Context) *tenant {
	c := b.carriedOn(ctx, b.Kind.side().Name)
	if c != nil || b.Kind.side().Within == "" {
		return c
	}
	if host := b.carriedOn(ctx, b.Kind.side().Within); host != nil {
		if guest := host.tenure.resident(); guest != nil && guest.first.holds() {
			return &guest.first
		}
	}
	return nil
}

// recognizes tells whether inner is a live hold of this lock, with which a call re-enters.
func (b *Base) recognizes(inner any) bool {
	h, ok := inner.(*hold)
	return ok && h.tenant.tenure.of(b, b.Kind.side().Name) && h.live()
}

// Carries tells whether ctx carries a live hold of this lock.
func (b *Base) Carries(ctx context.Context) bool { return b.carried(ctx) != nil }

// Carried yields, for each live hold that ctx carries of a lock at b's key through b's client, the base on
// which it was acquired, the innermost first. A lock of which several kinds share a key finds out so what its
// caller has.
func (b *Base) Carried(ctx context.Context) iter.Seq[*Base] {
	return func(yield func(*Base) bool) {
		for h := range holdsIn(ctx) {
			other := h.tenant.tenure.base
			if other.Session == b.Session && other.Key == b.Key && h.live() && !yield(other) {
				return
			}
		}
	}
}

// groupIn is the group of the hold of c that ctx carries.
func (c *tenant) groupIn(ctx context.Context) int32 {
	for h := range holdsIn(ctx) {
		if h.tenant == c && h.live() {
			return h.group
		}
	}
	return 0
}

// heldIn is how many holds of c count with that which ctx carries.
func (c *tenant) heldIn(ctx context.Context) (n int64) {
	group := c.groupIn(ctx)
	c.tenure.mu.Lock()
	defer c.tenure.mu.Unlock()
	for h := range c.holdsLocked() {
		if h.group == group {
			n++
		}
	}
	return n
}
