package baselock

import (
	"context"
	"iter"
	"time"
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

// Waiters is how many calls of this process wait for the lock.
func (b *Base) Waiters() int { return b.Session.Waiters(b.lineKey()) }

// Margin is what is kept off a lease, so that a hold ends here before it does at the server.
func Margin(lease time.Duration) time.Duration { return margin(lease) }
