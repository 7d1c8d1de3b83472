package baselock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Lock waits until the lock is held.
func (b *Base) Lock(ctx context.Context, opts []redlatch.Option) (*redlatch.Hold, error) {
	return b.take(ctx, opts, false)
}

// TryLock asks once.
func (b *Base) TryLock(ctx context.Context, opts []redlatch.Option) (*redlatch.Hold, error) {
	return b.take(ctx, opts, true)
}

func (b *Base) take(ctx context.Context, opts []redlatch.Option, try bool) (*redlatch.Hold, error) {
	set, err := b.resolve(opts, try)
	if err != nil {
		return nil, err
	}
	if set.Meet != nil {
		set.Meet(b)
		return nil, errMet
	}
	if set.Recognize != nil {
		set.Recognize(b.recognizes)
		return nil, errMet
	}
	call := b.call(ctx, set)
	defer call.Left()
	if call != nil {
		ctx = call.Context
	}
	ctx, cancel := set.Waiting(ctx, try)
	defer cancel()
	h, err := b.acquire(ctx, set, try || set.Once)
	if err != nil {
		err = b.explain(ctx, err)
		call.Refused(err)
		return nil, err
	}
	h.tell(call)
	return rootapi.Hold[*redlatch.Hold](h, holds.Acquired(h, 2)), nil // above are Lock and that of the primitive
}

func (b *Base) acquire(ctx context.Context, set *settings.Settings, try bool) (*hold, error) {
	if err := b.ready(ctx, set.OutageFor(try)); err != nil {
		return nil, err
	}
	if c := b.carried(ctx); c != nil {
		if !b.Kind.Reentrant {
			return nil, fmt.Errorf("%w: lock %q; use another context, or redlatch.Detach", errs.NotReentrant, b.Name)
		}
		h, err := c.reenter(ctx, set, try)
		if err != errOver {
			return h, err
		}
	}
	if h, err := b.beside(ctx, set, try); err != errOver {
		return h, err
	}
	if b.Kind.Fair != nil && !try {
		return b.standAnew(ctx, set)
	}
	h, waits := b.join(ctx, set, try)
	if h != nil {
		return h, nil
	}
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
	if b.joins(set) && b.Session.Cohorts.Share(b.line, t, true) {
		defer t.letIn()
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
		b.closeShared()
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

// accept makes a granted acquisition a hold, unless its answer took so long that it can no longer be trusted.
func (t *tenure) accept(receipt delivery.Receipt, reply scripts.Attempt) (*hold, error) {
	lease := t.first.set.FirstLease()
	trusted := watchdog.Trusted(receipt.Sent, lease)
	if !clock.Now().Before(trusted) {
		go t.giveUp()
		why := errSlow
		if receipt.Doubt {
			why = errLate
		}
		return nil, delivery.Unavailable(fmt.Errorf("it was granted, but %w than its lease of %v; ask for a longer lease", why, lease))
	}
	return t.begin(receipt.Sent, trusted, reply), nil
}
