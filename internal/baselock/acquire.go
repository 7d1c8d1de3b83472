package baselock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
)

// Plainly is how most locks are acquired and given back.
type Plainly struct{}

// Acquire asks, unless it is known that the answer would be no. Then, and after a refusal, it waits.
func (Plainly) Acquire(ctx context.Context, b *Base, set *settings.Settings, try bool) (*hold, error) {
	return comeFor(ctx, b, set, try, false)
}

// GiveBack takes the first step that is possible; see release.go.
func (Plainly) GiveBack(ctx context.Context, t *tenure, limit delivery.Limit, held bool) error {
	return t.giveBackAll(ctx, limit, held)
}

// Over does nothing.
func (Plainly) Over(*tenure) {}

// comeFor is Acquire. waits says that the call had better wait before it asks.
func comeFor(ctx context.Context, b *Base, set *settings.Settings, try, waits bool) (*hold, error) {
	shares := b.Kind.side().Shared
	waited, held, open := b.Session.Cohorts.Busy(b.line, shares)
	if open.Left > 0 && !try {
		if err := clock.Sleep(ctx, open.Left); err != nil {
			return nil, err
		}
		waited, held, open = b.Session.Cohorts.Busy(b.line, shares)
		// The call would most likely ask in vain, and once more to stand in the process queue.
		waited = waited || b.row != ""
	}
	switch {
	case open.Left > 0 && !open.Told && try:
		return nil, b.leftToOthers()
	case waited && try:
		if err := b.behind(ctx, set); err != errOver {
			return nil, err
		}
	case waited, (held || waits || open.Wanted && !shares && b.queuesAtOnce()) && !try:
		return b.wait(ctx, set, trouble{}, nil)
	}
	var t trouble
	h, remaining, err := b.attempt(ctx, set, try)
	switch {
	case h != nil:
		return h, nil
	case err != nil && !try && t.passes(ctx, set, err):
		return b.wait(ctx, set, t, delivery.Unavailable(err))
	case err != nil:
		return nil, err
	case try:
		return nil, b.taken(remaining)
	}
	return b.wait(ctx, set, t, refusal(remaining))
}

// Wanted tells whether a call would most likely ask for the lock in vain, because other processes have it or
// wait for it, and can take a place in the process queue instead.
func (b *Base) Wanted() bool {
	_, _, open := b.Session.Cohorts.Busy(b.line, false)
	return open.Wanted && b.queuesAtOnce()
}

// queuesAtOnce tells whether the first question of a waiter can be the one that takes the lock or a place in
// the process queue. It cannot before the process hears messages, and to wait for them would take as long as
// the question that is spared.
func (b *Base) queuesAtOnce() bool { return b.row != "" && b.Session.Hears(b.channel) }

// attempt asks Redis once, under a fresh identity. It returns the hold, or how long another owner holds the
// lock (negative when its key has no TTL), or an error. What it leaves behind is settled in the background.
func (b *Base) attempt(ctx context.Context, set *settings.Settings,
	try bool) (h *hold, remaining time.Duration, err error) {
	t := newTenure(b, set)
	if sharing := b.Kind.Sharing; sharing != nil && sharing.Asks(t) {
		defer sharing.LetIn(t)
	}
	return b.ask(ctx, t, try)
}

// ask is attempt for a tenure that is given.
func (b *Base) ask(ctx context.Context, t *tenure, try bool) (h *hold, remaining time.Duration, err error) {
	cmd := b.Kind.Acquire(t.asking())
	returned := false
	// A hook of the client may panic here, after the server has granted the lock.
	defer raise.Unless(&returned, t.doubted)
	h, remaining, err = b.attemptAs(ctx, t, cmd, try)
	returned = true
	switch {
	case err != nil:
		abandon(delivery.AsFailure(err), cmd, t.took, t)
	case h == nil:
		b.refusedShare()
	}
	return h, remaining, err
}

// attemptAs is an attempt under an identity that may have been used for earlier ones. What an error leaves
// behind is the caller's to settle.
func (b *Base) attemptAs(ctx context.Context, t *tenure, cmd scripts.Command[scripts.Attempt],
	try bool) (h *hold, remaining time.Duration, err error) {
	limit := delivery.Limit{Outage: t.first.set.OutageFor(try), Patient: true}
	if t.first.set.Replicas > 0 {
		return b.attemptSynced(ctx, t, cmd, limit)
	}
	reply, receipt, err := delivery.Deliver(ctx, b.Session.Dispatch, cmd, limit)
	if err != nil {
		return nil, 0, err
	}
	if reply.Held {
		h, err = t.accept(receipt, reply)
	} else {
		remaining = reply.Remaining
	}
	if receipt.Doubt {
		t.doubted() // only now: settling takes the count to that of the holds handed out
	}
	return h, remaining, err
}

// attemptSynced is an attempt that counts only when enough replicas have it. With too few it is undone.
func (b *Base) attemptSynced(ctx context.Context, t *tenure, cmd scripts.Command[scripts.Attempt],
	limit delivery.Limit) (*hold, time.Duration, error) {
	set := t.first.set
	reply, sent, acknowledged, unheard, err := delivery.Synced(ctx, b.Session.Dispatch, cmd, set.Replicas,
		set.ReplicaTimeout, limit)
	switch {
	case err != nil:
		return nil, 0, err
	case !reply.Held:
		return nil, reply.Remaining, nil
	case unheard == nil && acknowledged >= int64(set.Replicas):
		h, err := t.accept(delivery.Receipt{Sent: sent}, reply)
		return h, 0, err
	}
	undone := make(chan struct{})
	go func() {
		t.giveUp()
		close(undone)
	}()
	select {
	case <-undone:
	case <-ctx.Done():
	}
	err = fmt.Errorf("%w: %s %q: %d of the %d asked for within %v; the acquisition was undone",
		errs.NotReplicated, b.Kind.Label.Noun(), b.Name, acknowledged, set.Replicas, set.ReplicaTimeout)
	if unheard != nil {
		err = fmt.Errorf("%w: %w", err, delivery.Unavailable(unheard))
	}
	return nil, 0, err
}

// refusedShare tells those that share the lock in this process that a question was refused.
func (b *Base) refusedShare() {
	if b.Kind.Sharing != nil {
		b.Kind.Sharing.Refused(b)
	}
}
