package cohort

import (
	"context"
	"time"
)

// A Verdict is what one attempt found out.
type Verdict struct {
	Done  bool          // the waiter has what it wants
	More  bool          // and the next waiter may be lucky at once
	All   bool          // and so has every waiter that was in the queue when the attempt began
	Down  bool          // with an error: every waiter that was in the queue then would only find out the same
	Sleep time.Duration // otherwise, and for the next waiter after Done: when to ask again without a wake-up
	Found error         // without an error: what a waiter knows whose wait ends before the next attempt; nil: nothing
}

// Wait takes a place in the queue and returns nil when attempt says so, or an error of attempt, or ctx's. Attempts are
// made on the caller's goroutine while it is the head. patience bounds the wait for the confirmation of wake-ups;
// without one the queue polls.
func (q *Queue) Wait(ctx context.Context, patience time.Duration, attempt func(ctx context.Context) (Verdict, error)) error {
	return q.WaitFor(ctx, patience, nil, attempt)
}

// WaitFor is Wait for a waiter that may also be given what it waits for: nil is returned then too, and the grant is in request.
func (q *Queue) WaitFor(ctx context.Context, patience time.Duration, request *Request, attempt func(ctx context.Context) (Verdict, error)) error {
	return q.wait(ctx, request, attempt, func() announcement {
		if q.confirmed == nil {
			return announcement{}
		}
		return announcement{q.confirmed(), time.Now().Add(patience)}
	})
}

// Poll is WaitFor in a queue without messages: the waiter that becomes the head sleeps for pause() before its first attempt, for it
// has asked right before it came, or the one before it has. What attempts say of the sleep of the next waiter is void.
func (q *Queue) Poll(ctx context.Context, pause func() time.Duration, request *Request, attempt func(ctx context.Context) (Verdict, error)) error {
	return q.wait(ctx, request, attempt, func() announcement {
		q.rest(time.Now().Add(pause()))
		return announcement{}
	})
}

// wait calls begin when the waiter becomes the head, before its first sleep.
func (q *Queue) wait(ctx context.Context, request *Request, attempt func(ctx context.Context) (Verdict, error), begin func() announcement) error {
	w, head := q.join(request)
	if !head {
		select {
		case t := <-w.signal:
			if t == done {
				return w.err
			}
		case <-ctx.Done():
			return q.part(ctx, w)
		}
	}
	coming := begin()
	for {
		present, over, err := q.sleep(ctx, w, &coming)
		if over {
			return err
		}
		v, err := q.ask(ctx, w, attempt)
		switch {
		case err != nil && v.Down:
			q.dismiss(present, err)
			return err
		case err != nil:
			q.leave(w, true)
			return err
		case v.Done && v.All:
			q.dismiss(present, nil)
			return nil
		}
		q.answered(w, time.Now().Add(v.Sleep), v.Found)
		if v.Done {
			q.leave(w, v.More)
			return nil
		}
	}
}

// ask makes an attempt. One that panics or ends the goroutine, as a hook of the client may, takes w out of the queue: a
// program that recovers from it would find the queue blocked for ever.
func (q *Queue) ask(ctx context.Context, w *waiter, attempt func(ctx context.Context) (Verdict, error)) (Verdict, error) {
	returned := false
	defer func() {
		if !returned {
			q.leave(w, true)
		}
	}()
	v, err := attempt(ctx)
	returned = true
	return v, err
}

// part is for a waiter whose ctx has ended. No wake-up was consumed that the queue does not know of, so the successor
// keeps the schedule. The waiter may have been served at the same moment, and that counts.
func (q *Queue) part(ctx context.Context, w *waiter) error {
	if q.leave(w, false) {
		return w.err
	}
	return ctx.Err()
}

// An announcement is the confirmation that wake-ups can arrive: what is released before it is found by the attempt
// that follows it, and what is released after it sends a message. The zero value is one that is not waited for.
type announcement struct {
	made <-chan struct{} // nil when it is, or when there will be none
	by   time.Time       // when not to wait for it any longer
}

// remaining is how long to wait for it still.
func (a *announcement) remaining(now time.Time) time.Duration {
	if a.made != nil {
		select {
		case <-a.made:
			a.made = nil
		default:
		}
	}
	if a.made == nil {
		return 0
	}
	return max(0, a.by.Sub(now))
}

// sleep returns when it is time for an attempt, which then has to be made: wake-ups have been consumed for it. It tells
// which waiters were there at that moment. Or the wait is over: the waiter has been served, or its ctx has ended.
func (q *Queue) sleep(ctx context.Context, w *waiter, coming *announcement) (present uint64, over bool, err error) {
	for {
		if ctx.Err() != nil {
			return 0, true, q.part(ctx, w)
		}
		now := time.Now()
		p := q.next(w, now, coming.remaining(now))
		if p.ask || p.served {
			return p.present, p.served, nil
		}
		q.doze(ctx, w, p.sleep, coming.made)
	}
}

// doze returns when there may be something new to plan.
func (q *Queue) doze(ctx context.Context, w *waiter, d time.Duration, confirmed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-q.woken:
		q.call()
	case <-confirmed:
	case <-timer.C:
	case <-w.signal: // it has been served
	case <-ctx.Done():
	}
}
