package waiting

import (
	"context"
	"time"
)

// A Verdict is what one attempt found out.
type Verdict struct {
	Done  bool          // the waiter has what it wants
	More  bool          // and the next in line may be lucky at once
	All   bool          // and so has everybody who was in line when the attempt began
	Down  bool          // with an error: everybody who was in line then would only find out the same
	Sleep time.Duration // otherwise, and for the next in line after Done: when to ask again without a wake-up
	Found error         // without an error: what those know whose wait ends before the next attempt; nil: nothing
}

// Wait takes a place in line and returns nil when attempt says so, or an error of attempt, or ctx's. Attempts are
// made on the caller's goroutine while it is the head. patience bounds the wait for the confirmation of wake-ups;
// without one the line polls.
func (l *Line) Wait(ctx context.Context, patience time.Duration, attempt func(ctx context.Context) (Verdict, error)) error {
	return l.WaitFor(ctx, patience, nil, attempt)
}

// WaitFor is Wait for one who may also be given what it waits for: nil is returned then too, and the gift is in offer.
func (l *Line) WaitFor(ctx context.Context, patience time.Duration, offer *Offer, attempt func(ctx context.Context) (Verdict, error)) error {
	return l.wait(ctx, offer, attempt, func() announcement {
		if l.confirmed == nil {
			return announcement{}
		}
		return announcement{l.confirmed(), time.Now().Add(patience)}
	})
}

// Poll is WaitFor in a line without messages: whoever becomes the head sleeps for pause() before its first attempt, for it
// has asked right before it came, or somebody before it has. What attempts say of the sleep of the next in line is void.
func (l *Line) Poll(ctx context.Context, pause func() time.Duration, offer *Offer, attempt func(ctx context.Context) (Verdict, error)) error {
	return l.wait(ctx, offer, attempt, func() announcement {
		l.rest(time.Now().Add(pause()))
		return announcement{}
	})
}

// wait calls begin when the waiter becomes the head, before its first sleep.
func (l *Line) wait(ctx context.Context, offer *Offer, attempt func(ctx context.Context) (Verdict, error), begin func() announcement) error {
	w, head := l.join(offer)
	if !head {
		select {
		case t := <-w.turn:
			if t == served {
				return w.err
			}
		case <-ctx.Done():
			return l.part(ctx, w)
		}
	}
	coming := begin()
	for {
		present, over, err := l.sleep(ctx, w, &coming)
		if over {
			return err
		}
		v, err := l.ask(ctx, w, attempt)
		switch {
		case err != nil && v.Down:
			l.dismiss(present, err)
			return err
		case err != nil:
			l.leave(w, true)
			return err
		case v.Done && v.All:
			l.dismiss(present, nil)
			return nil
		}
		l.answered(w, time.Now().Add(v.Sleep), v.Found)
		if v.Done {
			l.leave(w, v.More)
			return nil
		}
	}
}

// ask makes an attempt. One that panics or ends the goroutine, as a hook of the client may, takes w out of the line: a
// program that recovers from it would find the line blocked for ever.
func (l *Line) ask(ctx context.Context, w *waiter, attempt func(ctx context.Context) (Verdict, error)) (Verdict, error) {
	returned := false
	defer func() {
		if !returned {
			l.leave(w, true)
		}
	}()
	v, err := attempt(ctx)
	returned = true
	return v, err
}

// part is for a waiter whose ctx has ended. No wake-up was consumed that the line does not know of, so the successor
// keeps the schedule. The waiter may have been served at the same moment, and that counts.
func (l *Line) part(ctx context.Context, w *waiter) error {
	if l.leave(w, false) {
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
// who was there at that moment. Or the wait is over: the waiter has been served, or its ctx has ended.
func (l *Line) sleep(ctx context.Context, w *waiter, coming *announcement) (present uint64, over bool, err error) {
	for {
		if ctx.Err() != nil {
			return 0, true, l.part(ctx, w)
		}
		now := time.Now()
		p := l.next(w, now, coming.remaining(now))
		if p.ask || p.served {
			return p.present, p.served, nil
		}
		l.doze(ctx, w, p.sleep, coming.made)
	}
}

// doze returns when there may be something new to plan.
func (l *Line) doze(ctx context.Context, w *waiter, d time.Duration, confirmed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.woken:
		l.call()
	case <-confirmed:
	case <-timer.C:
	case <-w.turn: // it has been served
	case <-ctx.Done():
	}
}
