package cohort

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
)

// WaitFor takes a place in the queue. It returns nil when attempt says Done, else the error of attempt or of
// ctx. Attempts are made on the caller's goroutine while it is the head. patience bounds the wait for the
// confirmation of wake-ups; without a confirmation the queue polls. A waiter with a request may also be given
// what it waits for: then WaitFor returns nil too, and the grant is in the request.
func (q *Queue) WaitFor(ctx context.Context, patience time.Duration, request *Request,
	attempt func(ctx context.Context) (Verdict, error)) error {
	return q.wait(ctx, request, attempt, func() announcement {
		if q.confirmed == nil {
			return announcement{}
		}
		return announcement{q.confirmed(), time.Now().Add(patience)}
	})
}

// Poll is WaitFor in a queue without messages. A waiter that becomes the head sleeps for pause() before its
// first attempt, because the caller asked right before the wait, or the head before it did. The sleep that an
// attempt sets after Done counts for nothing: each head begins with a pause of its own.
func (q *Queue) Poll(ctx context.Context, pause func() time.Duration, request *Request,
	attempt func(ctx context.Context) (Verdict, error)) error {
	return q.wait(ctx, request, attempt, func() announcement {
		q.rest(time.Now().Add(pause()))
		return announcement{}
	})
}

// wait calls begin when the waiter becomes the head, before its first sleep.
func (q *Queue) wait(ctx context.Context, request *Request, attempt func(ctx context.Context) (Verdict, error),
	begin func() announcement) error {
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
		q.answered(w, v)
		if v.Done {
			q.leave(w, v.More)
			return nil
		}
	}
}

// ask makes an attempt. One that panics or ends the goroutine, as a hook of the client may, takes w out of
// the queue: a program that recovers from it would find the queue blocked for ever.
func (q *Queue) ask(ctx context.Context, w *waiter,
	attempt func(ctx context.Context) (Verdict, error)) (Verdict, error) {
	returned := false
	defer raise.Unless(&returned, func() { q.leave(w, true) })
	lockorder.Has[lockorder.Attempt](w)
	defer lockorder.Gone[lockorder.Attempt](w)
	v, err := attempt(ctx)
	returned = true
	return v, err
}

// part takes out a waiter whose ctx has ended. The waiter has consumed no wake-up without telling the queue,
// so its successor keeps the schedule. If the waiter was served at the same moment, that counts and not the
// end of ctx.
func (q *Queue) part(ctx context.Context, w *waiter) error {
	if q.leave(w, false) {
		return w.err
	}
	return &errs.CutOff{Err: ctx.Err(), Since: w.since}
}

// An announcement is the confirmation that wake-ups can arrive. What is released before it is found by the
// attempt that follows it; what is released after it sends a message. The zero value is a confirmation that
// is not waited for.
type announcement struct {
	made <-chan struct{} // closed once it is confirmed; nil after that, or when there will be no confirmation
	by   time.Time       // how long to wait for it
}

// remaining is for how much longer to wait for the confirmation.
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

// sleep returns when it is time for an attempt, or when the wait is over: the waiter has been served, or its
// ctx has ended. An attempt has to be made then, because wake-ups have been consumed for it. present is the
// latest arrival at that moment.
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
