package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
)

// A fair lock goes to the first in its queue, in Redis. Where those who stand there one behind the other are
// waiters of one process, its holders hand the lock on among them without a command, in that order:
//
//	                        a release has the first hold, and names those behind it
//	first of ours in Redis ─────────────────────────────────────────────────────────► holds, with a row
//	                                                                                     │  ▲
//	                            the next of the row, and the news is fresh: local hand-off│  │
//	                                                                                     └──┘
//	                             else: a release, which removes the entries of those who were served
//
// The entries of a row stay in the queue until that release. So no other waiter can overtake those who are
// not served yet, whatever becomes of the lock or of this process.

// GiveBack gives back what stood in a queue.
func (q *InOrder) GiveBack(ctx context.Context, t *tenure, limit delivery.Limit, held bool) error {
	queue, part := t.base.Session.QueueIf(t.base.line)
	defer part()
	if held && queue != nil && t.handOn(queue) {
		return nil
	}
	defer t.unannounce(false) // also when a hook of the client panics
	t.forget()
	if queue == nil {
		return t.release(ctx, limit)
	}
	return q.endRow(ctx, t, limit, queue)
}

// handOn moves the tenure to the next of the row, if the process can do so by itself.
func (t *tenure) handOn(queue *fairqueue.Queue) bool {
	for w := queue.Heir(t.id); w != nil; w = queue.Heir(t.id) {
		next := w.Who.(*caller)
		if s := t.Streak(); !t.recent(s) || !queue.Current(s.News) {
			break
		}
		given := t.move(next)
		if given == nil {
			break
		}
		if queue.Give(t.id, w, given, time.Now().Add(untilEnd(next.set.FirstLease(), next.set.Poll))) {
			return true
		}
		t.Missed(given)
	}
	queue.Stop(t.id)
	return false
}

// endRow releases the lock. The script has the first in the queue hold.
func (q *InOrder) endRow(ctx context.Context, t *tenure, limit delivery.Limit, queue *fairqueue.Queue) error {
	carry := queue.Load(fairqueue.Most)
	asked, outcome := clock.Now(), fairqueue.Unknown
	var turn fairlock.Turn
	defer func() { // also when a hook of the client panics
		queue.Carried(carry, outcome, asked, turn.At, t.tenant.set.Poll)
		queue.Freed()
		if outcome == fairqueue.Unknown {
			queue.Missed()
		}
	}()
	s := t.subject(0, 0)
	turn, receipt, err := delivery.Within(ctx, t.base.Session.Dispatch, q.Turn(s, loadOf(carry)), limit)
	switch {
	case err == nil && receipt.Doubt:
		outcome = fairqueue.Twice
	case err == nil:
		outcome = fairqueue.Done
	case !delivery.AsFailure(err).Doubt:
		outcome = fairqueue.Undone
	}
	if len(turn.Row) > 0 {
		t.base.dismiss(queue.Hand(&fairqueue.HandedTo{Row: turn.Row, At: turn.At, Since: receipt.Sent}))
	}
	return t.gaveBack(turn.Held, receipt, err)
}

// Over gives up the entries of those that were served as t, which is lost or was dropped.
func (*InOrder) Over(t *tenure) {
	queue, part := t.base.Session.QueueIf(t.base.line)
	if queue != nil {
		t.base.dismiss(queue.Over()...)
	}
	part()
}
