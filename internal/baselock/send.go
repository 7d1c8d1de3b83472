package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// LockSend takes the send lock: a tenure has at most one count-changing command under way. UnlockSend gives
// it to the next.
func (t *Tenure) LockSend(ctx context.Context) error {
	lockorder.Waits[lockorder.Send](t)
	t.Mu.Lock()
	if !t.sending {
		t.sending = true
		t.Mu.Unlock()
		lockorder.Has[lockorder.Send](t)
		return nil
	}
	r := t.rareLocked()
	if r.turn == nil {
		r.turn = make(chan struct{}, 1)
	}
	r.senders++
	t.Mu.Unlock()
	select {
	case <-r.turn:
		lockorder.Has[lockorder.Send](t)
		return nil
	case <-ctx.Done():
	}
	t.Mu.Lock()
	came := r.senders == 0 // the send lock came at the same moment, and no other goroutine waits for it
	if !came {
		r.senders--
	}
	t.Mu.Unlock()
	if came {
		<-r.turn
		t.UnlockSend()
	}
	return ctx.Err()
}

// TryLockSend takes the send lock if it is free.
func (t *Tenure) TryLockSend() bool {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	free := !t.sending
	t.sending = true
	if free {
		lockorder.Has[lockorder.Send](t)
	}
	return free
}

// lockSendToRelease is LockSend for a release: it does not care for the end of ctx, but has a limit. It
// answers how much of that is left for the release itself.
func (t *Tenure) lockSendToRelease(ctx context.Context, limit time.Duration) (left time.Duration, err error) {
	if t.TryLockSend() { // the common case needs no timer
		return limit, nil
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err = t.LockSend(ctx)
	return max(time.Millisecond, limit-time.Since(start)), err
}

func (t *Tenure) UnlockSend() {
	lockorder.Gone[lockorder.Send](t)
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.rare.senders == 0 {
		t.sending = false
		return
	}
	t.rare.senders--
	t.rare.turn <- struct{}{}
}
