package baselock

import (
	"context"
	"iter"
)

// Carried yields, for each live hold that ctx carries of a lock at b's key through b's client, the base on which it was
// acquired, the innermost first. A lock of which several kinds share a key finds out so what its caller has.
func (b *Base) Carried(ctx context.Context) iter.Seq[*Base] {
	return func(yield func(*Base) bool) {
		for h := range holdsIn(ctx) {
			other := h.owner.base
			if other.Session == b.Session && other.Key == b.Key && h.live() && !yield(other) {
				return
			}
		}
	}
}
