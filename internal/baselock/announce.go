package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/settings"
)

// signOfLife is the longest pause between two attempts of a waiter that is announced. Each attempt renews the
// announcement. If the process of the waiter has died, the announcement runs out after two such pauses.
const signOfLife = 3 * time.Second

// giveSigns bounds the pauses of a waiter that announces itself.
func (b *Base) giveSigns(set *settings.Settings) {
	if b.Announces(set) {
		set.Poll = min(set.Poll, signOfLife)
	}
}

// Withdraw takes back the announcement of this process. Waiters that are still here hear of it, ask, and
// announce themselves anew. An attempt may be executed after the withdrawal of the waiter that sent it. So
// when its outcome was in doubt, its owner withdraws once more. Failures do not matter: an announcement that
// stays runs out soon.
func (b *Base) Withdraw(ctx context.Context) {
	cmd := b.Kind.Side.Withdraw(Subject{Key: b.Key, Session: b.Session.ID, Wake: b.Wake()})
	_, _, _ = delivery.Deliver(ctx, b.Session.Dispatch, cmd, delivery.Limit{Outage: SettleAttempt})
}
