package baselock

import (
	"context"
	"iter"
	"slices"

	"github.com/redlatch/redlatch/internal/holds"
)

// HoldsIn are the holds of locks on this base that ctx carries, the innermost first. Those of a multi-lock or
// redlock are among them: a call that did not find them would wait for the hold of its own context.
func HoldsIn(ctx context.Context) iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		for carried := range holds.Carried(ctx) {
			if !yieldHolds(carried, yield) {
				return
			}
		}
	}
}

// yieldHolds yields a hold of this base, or those that a composite stands on, and tells whether to go on.
func yieldHolds(carried holds.Hold, yield func(*Hold) bool) bool {
	switch h := carried.(type) {
	case *Hold:
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

// groupIn is the group of the hold of c that ctx carries.
func (c *Tenant) groupIn(ctx context.Context) int32 {
	for h := range HoldsIn(ctx) {
		if h.Tenant == c && h.Live() {
			return h.Group
		}
	}
	return 0
}

// HeldIn is how many holds of c count with that which ctx carries.
func (c *Tenant) HeldIn(ctx context.Context) (n int64) {
	group := c.groupIn(ctx)
	c.Tenure.Mu.Lock()
	defer c.Tenure.Mu.Unlock()
	for h := range c.holdsLocked() {
		if h.Group == group {
			n++
		}
	}
	return n
}
