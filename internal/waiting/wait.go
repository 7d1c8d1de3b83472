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
}

// Wait takes a place in line and returns nil when attempt says so, or an error of attempt, or ctx's. Attempts are
// made on the caller's goroutine while it is the head. patience bounds the wait for the confirmation of wake-ups;
// without one the line polls.
func (l *Line) Wait(ctx context.Context, patience time.Duration, attempt func(ctx context.Context) (Verdict, error)) error {
	return l.wait(ctx, attempt, func() error { return l.confirm(ctx, patience) })
}

// Poll is Wait in a line without wake-ups: whoever becomes the head sleeps for pause() before its first attempt, for it
// has asked right before it came, or somebody before it has. What attempts say of the sleep of the next in line is void.
func (l *Line) Poll(ctx context.Context, pause func() time.Duration, attempt func(ctx context.Context) (Verdict, error)) error {
	return l.wait(ctx, attempt, func() error {
		l.rest(time.Now().Add(pause()))
		return ctx.Err()
	})
}

// wait calls begin when the waiter becomes the head, before its first sleep.
func (l *Line) wait(ctx context.Context, attempt func(ctx context.Context) (Verdict, error), begin func() error) error {
	w, head := l.join()
	if !head {
		select {
		case t := <-w.turn:
			if t != lead {
				return w.err
			}
		case <-ctx.Done():
			return l.give(ctx, w)
		}
	}
	if err := begin(); err != nil {
		l.leave(w, true)
		return err
	}
	for {
		if err := l.sleep(ctx); err != nil {
			l.leave(w, false) // no wake-up was consumed; the successor keeps the head's schedule, and its eagerness
			return err
		}
		present := l.latest()
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
		case v.Done:
			l.schedule(time.Now().Add(v.Sleep))
			l.leave(w, v.More)
			return nil
		}
		l.schedule(time.Now().Add(v.Sleep))
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

// give is for a waiter who leaves without having been the head. It may have been made the head, or served, at the
// same moment; being served counts.
func (l *Line) give(ctx context.Context, w *waiter) error {
	l.leave(w, true)
	select {
	case t := <-w.turn:
		if t == dismissed && w.err == nil {
			return nil
		}
	default:
	}
	return ctx.Err()
}

// confirm waits until wake-ups can arrive: what is released before that moment is found by the attempt that follows
// it, and what is released after it sends a message.
func (l *Line) confirm(ctx context.Context, patience time.Duration) error {
	if l.confirmed == nil {
		return ctx.Err()
	}
	confirmed := l.confirmed()
	select {
	case <-confirmed:
		return nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-confirmed:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sleep returns nil when it is time for an attempt, which then has to be made: wake-ups have been consumed for it.
func (l *Line) sleep(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	eager, d := l.next(time.Now())
	if eager {
		// The attempt answers for the wake-ups so far.
		select {
		case <-l.woken:
		default:
		}
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.woken:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
