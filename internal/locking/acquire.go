package locking

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
)

// Plainly is how most locks are acquired and given back.
type Plainly struct {
	Waits bool // a call had better wait before it asks
}

// Over does nothing: a tenure that is over leaves nothing behind in a queue.
func (Plainly) Over(*baselock.Tenure) {}

// Acquire asks, unless it is known that the answer would be no. Then, and after a refusal, it waits.
func (p Plainly) Acquire(ctx context.Context, b *baselock.Base, set *settings.Settings,
	try bool) (*baselock.Hold, error) {
	shares := b.Kind.Side.Shared
	waited, held, open := b.Session.Cohorts.Busy(b.Line, shares)
	if open.Left > 0 && !try {
		if err := clock.Sleep(ctx, open.Left); err != nil {
			return nil, err
		}
		waited, held, open = b.Session.Cohorts.Busy(b.Line, shares)
		// The call would most likely ask in vain, and once more to stand in the process queue.
		waited = waited || b.Row != ""
	}
	switch {
	case open.Left > 0 && !open.Told && try:
		return nil, LeftToOthers(b)
	case waited && try:
		if err := behind(ctx, b, set); err != baselock.ErrOver {
			return nil, err
		}
	case waited, (held || p.Waits || open.Wanted && !shares && queuesAtOnce(b)) && !try:
		return wait(ctx, b, set, Trouble{}, nil)
	}
	var t Trouble
	h, remaining, err := attempt(ctx, b, set, try)
	switch {
	case h != nil:
		return h, nil
	case err != nil && !try && t.Passes(ctx, set, err):
		return wait(ctx, b, set, t, delivery.Unavailable(err))
	case err != nil:
		return nil, err
	case try:
		return nil, Taken(b, remaining)
	}
	return wait(ctx, b, set, t, Refusal(remaining))
}

// Wanted tells whether a call would most likely ask for the lock in vain, because other processes have it or
// wait for it, and can take a place in the process queue instead.
func Wanted(b *baselock.Base) bool {
	_, _, open := b.Session.Cohorts.Busy(b.Line, false)
	return open.Wanted && queuesAtOnce(b)
}

// queuesAtOnce tells whether the first question of a waiter can be the one that takes the lock or a place in
// the process queue. It cannot before the process hears messages, and to wait for them would take as long as
// the question that is spared.
func queuesAtOnce(b *baselock.Base) bool { return b.Row != "" && b.Session.Hears(b.Channel) }

// attempt asks Redis once, under a fresh identity. It returns the hold, or how long another owner holds the
// lock (negative when its key has no TTL), or an error. What it leaves behind is settled in the background.
func attempt(ctx context.Context, b *baselock.Base, set *settings.Settings,
	try bool) (h *baselock.Hold, remaining time.Duration, err error) {
	t := baselock.NewTenure(b, set)
	if sharing := b.Kind.Sharing; sharing != nil && sharing.Asks(t) {
		defer sharing.LetIn(t)
	}
	return Ask(ctx, t, try)
}

// Ask is attempt for a tenure that is given.
func Ask(ctx context.Context, t *baselock.Tenure,
	try bool) (h *baselock.Hold, remaining time.Duration, err error) {
	cmd := t.Base.Kind.Acquire(t.Asking())
	returned := false
	// A hook of the client may panic here, after the server has granted the lock.
	defer raise.Unless(&returned, t.Doubted)
	h, remaining, err = AttemptAs(ctx, t, cmd, try)
	returned = true
	switch {
	case err != nil:
		baselock.Abandon(delivery.AsFailure(err), cmd, t.Took, t)
	case h == nil:
		refusedShare(t.Base)
	}
	return h, remaining, err
}

// AttemptAs is an attempt under an identity that may have been used for earlier ones. What an error leaves
// behind is the caller's to settle.
func AttemptAs(ctx context.Context, t *baselock.Tenure, cmd scripts.Command[scripts.Attempt],
	try bool) (h *baselock.Hold, remaining time.Duration, err error) {
	limit := delivery.Limit{Outage: t.First.Set.OutageFor(try), Patient: true}
	if t.First.Set.Replicas > 0 {
		return attemptSynced(ctx, t, cmd, limit)
	}
	reply, receipt, err := delivery.Deliver(ctx, t.Base.Session.Dispatch, cmd, limit)
	if err != nil {
		return nil, 0, err
	}
	if reply.Held {
		h, err = t.Accept(receipt, reply)
	} else {
		remaining = reply.Remaining
	}
	if receipt.Doubt {
		t.Doubted() // only now: settling takes the count to that of the holds handed out
	}
	return h, remaining, err
}

// attemptSynced is an attempt that counts only when enough replicas have it. With too few it is undone.
func attemptSynced(ctx context.Context, t *baselock.Tenure, cmd scripts.Command[scripts.Attempt],
	limit delivery.Limit) (*baselock.Hold, time.Duration, error) {
	set := t.First.Set
	reply, sent, acknowledged, unheard, err := delivery.Synced(ctx, t.Base.Session.Dispatch, cmd, set.Replicas,
		set.ReplicaTimeout, limit)
	switch {
	case err != nil:
		return nil, 0, err
	case !reply.Held:
		return nil, reply.Remaining, nil
	case unheard == nil && acknowledged >= int64(set.Replicas):
		h, err := t.Accept(delivery.Receipt{Sent: sent}, reply)
		return h, 0, err
	}
	undone := make(chan struct{})
	go func() {
		t.GiveUp()
		close(undone)
	}()
	select {
	case <-undone:
	case <-ctx.Done():
	}
	err = fmt.Errorf("%w: %s %q: %d of the %d asked for within %v; the acquisition was undone",
		errs.NotReplicated, t.Base.Kind.Label.Noun(), t.Base.Name, acknowledged, set.Replicas, set.ReplicaTimeout)
	if unheard != nil {
		err = fmt.Errorf("%w: %w", err, delivery.Unavailable(unheard))
	}
	return nil, 0, err
}

// refusedShare tells those that share the lock in this process that a question was refused.
func refusedShare(b *baselock.Base) {
	if b.Kind.Sharing != nil {
		b.Kind.Sharing.Refused(b)
	}
}
