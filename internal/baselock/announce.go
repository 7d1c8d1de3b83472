package baselock

import (
	"context"

	"github.com/redlatch/redlatch/internal/delivery"
)

// Withdraw takes back the announcement of this process. Waiters that are still here hear of it, ask, and
// announce themselves anew. An attempt may be executed after the withdrawal of the waiter that sent it. So
// when its outcome was in doubt, its owner withdraws once more. Failures do not matter: an announcement that
// stays runs out soon.
func (b *Base) Withdraw(ctx context.Context) {
	cmd := b.Kind.Side.Withdraw(Subject{Key: b.Key, Session: b.Session.ID, Wake: b.Wake()})
	_, _, _ = delivery.Deliver(ctx, b.Session.Dispatch, cmd, delivery.Limit{Outage: SettleAttempt})
}
