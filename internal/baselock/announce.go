package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/settings"
)

// asking is what the first acquisition says.
func (t *tenure) asking() Subject {
	s := t.subject(1, t.first.set.FirstLease())
	if t.host != nil {
		s.Host = t.host.field()
	}
	if t.announces {
		s.Session, s.Announce = t.base.Session.ID, patience(t.first.set)
	}
	return s
}

// announces tells whether waiters with these settings announce themselves when they are the head of the local
// queue. No other does: readers stand back for an announced writer, and if one of them were before it in the
// same local queue, neither could go on.
func (b *Base) announces(set *settings.Settings) bool {
	return set.PreferWriters && b.Kind.side().Withdraw != nil
}

// signOfLife is the longest pause between two attempts of a waiter that is announced. Each attempt renews the
// announcement. If the process of the waiter has died, the announcement runs out after two such pauses.
const signOfLife = 3 * time.Second

// giveSigns bounds the pauses of a waiter that announces itself.
func (b *Base) giveSigns(set *settings.Settings) {
	if b.announces(set) {
		set.Poll = min(set.Poll, signOfLife)
	}
}

// withdraw takes back the announcement of this process. Waiters that are still here hear of it, ask, and
// announce themselves anew. An attempt may be executed after the withdrawal of the waiter that sent it. So
// when its outcome was in doubt, its owner withdraws once more. Failures do not matter: an announcement that
// stays runs out soon.
func (b *Base) withdraw(ctx context.Context) {
	cmd := b.Kind.side().Withdraw(Subject{Key: b.Key, Session: b.Session.ID, Wake: b.wake()})
	_, _, _ = delivery.Deliver(ctx, b.Session.Dispatch, cmd, delivery.Limit{Outage: settleAttempt})
}
