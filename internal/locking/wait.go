package locking

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/settings"
)

// A waiter is a call that has a place in the local queue. While it is the head it asks for the lock, now and
// then and when the lock may be free. Else, and meanwhile, a hold of its process may hand the lock on to it.
type waiter struct {
	Caller
	queue   *cohort.Cohort
	trouble Trouble
	pace    func() time.Duration // nil: messages wake it
	offer   *cohort.Request      // what it says to a holder that could hand the lock on
	got     *baselock.Hold

	alone   bool // no other process took the lock though it had the time to ask
	yielded bool // where waiters poll: other processes are given that time
	drained bool // it has waited for the readers of its process to leave
}

// wait takes a place in the local queue. t is the trouble that the wait began with; found is what an attempt
// before the wait found out, nil if there was none.
func wait(ctx context.Context, b *baselock.Base, set *settings.Settings, t Trouble,
	found error) (*baselock.Hold, error) {
	defer WatchOwn(b, set)()
	line, held, part := b.Session.Join(b.Line, Channels(b, set))
	if b.Kind.Side.Shared {
		_, held, _ = b.Session.Cohorts.Busy(b.Line, true)
		held = held || b.Kind.Sharing.Asked(b)
	}
	defer func() {
		if left := part(); left != nil {
			settleCandidate(b, line, left, set)
		}
	}()
	if found != nil {
		line.Note(found)
	}
	w := &waiter{Caller: Caller{b, set}, queue: line, trouble: t}
	w.offer = w.Caller.offer(held)
	var err error
	if b.Kind.Pace == nil {
		err = line.WaitFor(ctx, set.Poll, w.offer, w.attempt)
	} else {
		w.pace = b.Kind.Pace(set)
		err = line.Poll(ctx, w.pace, w.offer, w.attempt)
	}
	switch {
	case err != nil:
		left(b, line.Queue, set)
		return nil, &errs.Unanswered{Err: err, Found: line.Found(), Waited: errs.Waited(err)}
	case w.got == nil:
		w.got = w.offer.Grant.(*baselock.Hold)
	case b.Kind.Sharing != nil:
		b.Kind.Sharing.LetIn(w.got.Tenant.Tenure)
	}
	return w.got, nil
}

// attempt is what the head does when it is its time.
func (w *waiter) attempt(ctx context.Context) (cohort.Verdict, error) {
	ctx = delivery.Watched(ctx, w.queue.Note)
	if v, ok := w.share(ctx); ok {
		return v, nil
	}
	if v, ok := w.yields(ctx); ok {
		return v, nil
	}
	h, remaining, open, err := w.asks(ctx)
	switch {
	case w.trouble.Passes(ctx, w.Set, err): // it keeps its place
		return cohort.Verdict{Sleep: cohort.Bound(0, w.Set.Poll), Found: delivery.Unavailable(err)}, nil
	case err != nil:
		return cohort.Verdict{Down: delivery.Outage(ctx, err)}, err
	case h != nil:
		return w.holds(h), nil
	case open:
		return cohort.Verdict{Sleep: remaining, Found: Refusal(-1)}, nil
	case w.pace != nil:
		return cohort.Verdict{Sleep: w.pace(), Found: Refusal(remaining)}, nil
	}
	return w.refused(remaining), nil
}

// refused is what follows from an answer that another holds the lock, for so long.
func (w *waiter) refused(remaining time.Duration) cohort.Verdict {
	return cohort.Verdict{Sleep: cohort.Bound(remaining, w.Set.Poll), Found: Refusal(remaining)}
}

// share has the head hold what readers of its process hold. It waits first, once, where they are about to
// leave the lock to others, unless its own wait would leave no time then to ask. That is no refusal: what was
// found out before goes on to be the last that is known.
func (w *waiter) share(ctx context.Context) (v cohort.Verdict, ok bool) {
	if w.Kind.Sharing == nil {
		return v, false
	}
	h, drain := w.Kind.Sharing.Join(ctx, w.Base, w.Set, w.queue)
	switch {
	case h != nil:
		w.got = h
		return cohort.Verdict{Done: true, Sleep: cohort.Bound(w.Set.FirstLease(), w.Set.Poll)}, true
	case drain > 0 && !w.drained && outlasts(ctx, 2*drain):
		w.drained = true
		return cohort.Verdict{Sleep: drain, Found: w.queue.Found()}, true
	}
	return v, false
}

// outlasts tells whether ctx has no end within d, as far as that is known before.
func outlasts(ctx context.Context, d time.Duration) bool {
	end, ends := ctx.Deadline()
	return !ends || time.Until(end) >= d
}

// yields has the head give other processes the time to take the lock, where that is due, and tells whether
// the head goes on waiting then. Where waiters are woken it looks at the lock before it asks for it, which
// takes a round trip. Where they are told nothing would be due if another process stood in the process queue.
func (w *waiter) yields(ctx context.Context) (v cohort.Verdict, ok bool) {
	w.alone = false
	switch due := w.queue.Yields(); {
	case due && w.pace != nil:
		w.yielded = true
		return cohort.Verdict{Sleep: YieldFor, Found: Refusal(-1)}, true
	case due && w.Orders() && canEnqueue(w.Base, w.queue, w.Set):
		if _, _, open := w.Session.Cohorts.Busy(w.Line, false); open.Left > 0 {
			return cohort.Verdict{Sleep: open.Left, Found: Refusal(-1)}, true
		}
		w.queue.Refresh()
		w.alone = true
	case due:
		remaining, held := w.look(ctx)
		if held && !w.Kind.Side.Shared {
			return w.refused(remaining), true
		}
		w.queue.Refresh()
		w.alone = !held || w.Kind.Side.Shared
	case w.yielded:
		w.alone, w.yielded = true, false
	}
	return v, false
}

// look finds out whether another owner holds the lock, and for how long still. The candidate of the waiter's
// own process is not another owner: the lock may have been passed to it by a message that was lost.
func (w *waiter) look(ctx context.Context) (remaining time.Duration, held bool) {
	cmd := w.Kind.Status(baselock.Subject{Key: w.Key, Owner: w.queue.Candidacy.Owner()})
	status, _, err := delivery.Deliver(ctx, w.Session.Dispatch, cmd, delivery.Limit{})
	return status.TTL, err == nil && status.Exists && status.Holds == 0 // an error is the attempt's to find out
}

// asks has the head ask Redis. open says that the lock is free, and left to others for the time that remains.
func (w *waiter) asks(ctx context.Context) (h *baselock.Hold, remaining time.Duration, open bool, err error) {
	if canEnqueue(w.Base, w.queue, w.Set) {
		return enqueue(ctx, w.Base, w.queue, w.Set)
	}
	dequeue(w.Base, w.queue, w.Set)
	t := baselock.NewTenure(w.Base, w.Set)
	t.Announces = w.Announces(w.Set)
	h, remaining, err = Ask(ctx, t, false)
	return h, remaining, false, err
}

// holds notes what the head was granted.
func (w *waiter) holds(h *baselock.Hold) cohort.Verdict {
	w.got = h
	if t := h.Tenant.Tenure; w.alone {
		s := t.LockStreak(true)
		s.Alone, s.ClosedSince = true, w.queue.ClosedSince()
		t.Mu.Unlock()
	}
	v := cohort.Verdict{Done: true, Sleep: cohort.Bound(w.Set.FirstLease(), w.Set.Poll)}
	if !w.Kind.Side.Shared {
		v.Found = Refusal(-1)
	}
	return v
}

// left is called when a waiter has left the local queue without the lock. Its announcement is taken back. The
// new head asks, because it may want the other side, which may be free.
func left(b *baselock.Base, line *cohort.Queue, set *settings.Settings) {
	switch {
	case b.Kind.Side.Cohort == "":
	case !b.Announces(set):
		line.Wake()
	default:
		go func() {
			ctx, cancel := context.WithTimeout(b.Background(b.Defaults), baselock.SettleAttempt)
			defer cancel()
			b.Withdraw(ctx)
			line.Wake()
		}()
	}
}
