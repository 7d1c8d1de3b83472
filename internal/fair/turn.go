package fair

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
)

// GiveBack gives back what stood in a queue.
func (q *InOrder) GiveBack(ctx context.Context, t *baselock.Tenure, limit delivery.Limit, held bool) error {
	queue, part := t.Base.Session.QueueIf(t.Base.Line)
	defer part()
	if held && queue != nil && handOn(t, queue) {
		return nil
	}
	defer t.Unannounce(false) // also when a hook of the client panics
	t.Forget()
	if queue == nil {
		return locking.Release(ctx, t, limit)
	}
	return q.endRow(ctx, t, limit, queue)
}

// handOn moves the tenure to the next of the row, if the process can do so by itself.
func handOn(t *baselock.Tenure, queue *fairqueue.Queue) bool {
	for w := queue.Heir(t.ID); w != nil; w = queue.Heir(t.ID) {
		next := w.Who.(*locking.Caller)
		if s := t.OwnStreak(); !t.Recent(s) || !queue.Current(s.News) {
			break
		}
		given := t.Move(next.Set)
		if given == nil {
			break
		}
		if queue.Give(t.ID, w, given, time.Now().Add(untilEnd(next.Set.FirstLease(), next.Set.Poll))) {
			return true
		}
		t.Vacate()
	}
	queue.Stop(t.ID)
	return false
}

// endRow releases the lock. The script has the first in the queue hold.
func (q *InOrder) endRow(ctx context.Context, t *baselock.Tenure, limit delivery.Limit, queue *fairqueue.Queue) error {
	carry := queue.Load(fairqueue.Most)
	asked, outcome := clock.Now(), fairqueue.Unknown
	var turn fairlock.Turn
	defer func() { // also when a hook of the client panics
		queue.Carried(carry, outcome, asked, turn.At, t.Tenant.Set.Poll)
		queue.Freed()
		if outcome == fairqueue.Unknown {
			queue.Missed()
		}
	}()
	s := t.Subject(0, 0)
	turn, receipt, err := delivery.Within(ctx, t.Base.Session.Dispatch, q.Turn(s, loadOf(carry)), limit)
	switch {
	case err == nil && receipt.Doubt:
		outcome = fairqueue.Twice
	case err == nil:
		outcome = fairqueue.Done
	case !delivery.AsFailure(err).Doubt:
		outcome = fairqueue.Undone
	}
	if len(turn.Row) > 0 {
		t.Base.Dismiss(queue.Hand(&fairqueue.HandedTo{Row: turn.Row, At: turn.At, Since: receipt.Sent}))
	}
	return t.GaveBack(turn.Held, receipt, err)
}

// Over gives up the entries of those that were served as t, which is lost or was dropped.
func (*InOrder) Over(t *baselock.Tenure) {
	queue, part := t.Base.Session.QueueIf(t.Base.Line)
	if queue != nil {
		t.Base.Dismiss(queue.Over()...)
	}
	part()
}
