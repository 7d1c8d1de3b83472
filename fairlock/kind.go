package fairlock

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/fair"
	"github.com/redlatch/redlatch/internal/fairqueue"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/settings"
)

// What concerns the hash alone, which is re-entry, renewal and the queries, is the plain lock's.
var (
	reentrant = func() baselock.Kind {
		kind := locking.Plain()
		kind.Label = redlatch.KindFairLock
		kind.Takes |= settings.Patience | settings.LocalHandOff
		kind.Acquire = try
		kind.Ways = &fair.InOrder{Ask: ask, Turn: turn}
		kind.Queued = fairlock.Queued
		kind.Release = func(s baselock.Subject) scripts.Command[bool] { return fairlock.Release(s.Key, waiter(s), s.Wake) }
		kind.Force = func(s baselock.Subject) scripts.Command[bool] { return fairlock.Force(s.Key, s.Wake) }
		return kind
	}()
	nonReentrant = locking.NonReentrant(reentrant)
)

func waiter(s baselock.Subject) fairlock.Waiter {
	return fairlock.Waiter{Owner: s.Owner, Patience: s.Patience}
}

func ask(s baselock.Subject, others []*fairqueue.Waiter, load fairlock.Load) scripts.Command[fairlock.Answer] {
	confirmed := make([]fairlock.Waiter, len(others))
	for i, other := range others {
		confirmed[i] = fairlock.Waiter{Owner: other.Owner, Patience: other.Patience}
	}
	return fairlock.Acquire(s.Key, waiter(s), s.Lease, s.Wake, confirmed, load)
}

func turn(s baselock.Subject, load fairlock.Load) scripts.Command[fairlock.Turn] {
	return fairlock.Pass(s.Key, waiter(s), s.Wake, load)
}

// try asks without patience, so it stands in no queue.
func try(s baselock.Subject) scripts.Command[scripts.Attempt] {
	cmd := fairlock.Acquire(s.Key, fairlock.Waiter{Owner: s.Owner}, s.Lease, s.Wake, nil, fairlock.Load{})
	return scripts.Map(cmd, func(a fairlock.Answer) scripts.Attempt {
		return scripts.Attempt{Held: a.Held, Remaining: a.Again}
	})
}
