package sides

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Readers are the ways of the reading side: its holds of one process are one to Redis.
type Readers struct {
	locking.Plainly
	// Confirm asks whether an owner still holds, and whether others wait.
	Confirm func(baselock.Subject) scripts.Command[rwlock.Confirmation]
}

var _ baselock.Sharing = (*Readers)(nil)

// joins tells whether a call with these settings can share what others of its process hold: it has no terms
// of its own.
func joins(b *baselock.Base, set *settings.Settings) bool {
	return b.Kind.Sharing != nil && !set.Scripted && set.Lease == 0 && set.MaxHold == 0 && set.AtLeast == 0 &&
		set.Replicas == 0
}

// shared is the tenure that calls of this process may join, nil if there is none, and what
// [cohort.Registry.Shared] says beside it.
func shared(b *baselock.Base) (t *baselock.Tenure, line *cohort.Cohort, waited bool) {
	shared, line, waited := b.Session.Cohorts.Shared(b.Line)
	t, _ = shared.(*baselock.Tenure)
	return t, line, waited
}

// Began opens a tenure that has just acquired to others, if it can have any. Within a write hold it cannot:
// there it has the identity of the writer.
func (*Readers) Began(t *baselock.Tenure) {
	if t.Host != nil || !joins(t.Base, t.First.Set) {
		return
	}
	t.Mu.Lock()
	if t.LostLocked() == nil && t.First.Live > 0 {
		t.Shared.Granted()
	}
	t.Mu.Unlock()
	t.Base.Session.Cohorts.Share(t.Base.Line, t, false)
}

// Join is join for the head of the local queue.
func (r *Readers) Join(ctx context.Context, b *baselock.Base, set *settings.Settings,
	line *cohort.Cohort) (h *baselock.Hold, drain time.Duration) {
	t, _, _ := shared(b)
	if t == nil || !joins(b, set) {
		return nil, 0
	}
	h, waits := r.joined(ctx, t, set, line, false)
	if waits {
		drain = forDrain
	}
	return h, drain
}

// forDrain is for how long a reader waits, once, for holds to be given back after which this process leaves
// the lock to others. Then it asks for itself, for who listens need not wait, and a section may last.
const forDrain = 10 * time.Millisecond

// Refused keeps calls from joining what others of this process hold, because an attempt to share it was
// refused: a writer has announced itself.
func (*Readers) Refused(b *baselock.Base) {
	if t, _, _ := shared(b); t != nil {
		t.Mu.Lock()
		defer t.Mu.Unlock()
		t.Shared.Drain()
	}
}

// join has a call hold what others of its process hold. It answers nothing where the call has to ask for
// itself, and waits where it had better wait before: another call asks, or this process leaves the lock to
// others as soon as its holds are given back.
func (r *Readers) join(ctx context.Context, b *baselock.Base, set *settings.Settings,
	try bool) (h *baselock.Hold, waits bool) {
	if !joins(b, set) {
		return nil, false
	}
	t, line, waited := shared(b)
	switch {
	case t == nil, waited:
		return nil, false
	case sharing(t).Over():
		// Its release may be under way for a round trip. A call that comes meanwhile must not find this
		// tenure, but the call that asks next, and wait for its answer. Else each would ask, hold alone and
		// release by itself.
		b.Session.Cohorts.Unshare(b.Line, t)
		return nil, false
	case sharing(t).Asked():
		return nil, true
	case line == nil: // from now on messages are heard, without which no news is fresh
		_, _, part := b.Session.Join(b.Line, locking.Channels(b, set))
		part()
		return nil, false
	}
	if h, waits = r.joined(ctx, t, set, line, try); h != nil {
		runtime.Gosched() // those that run would have it all else, while others of the process wait for a processor
	}
	return h, waits
}

// sharing is how far the tenure is now.
func sharing(t *baselock.Tenure) cohort.Share {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.Shared
}

// Asks has calls that can share the lock wait for the answer to the question of t.
func (*Readers) Asks(t *baselock.Tenure) bool {
	return joins(t.Base, t.First.Set) && t.Base.Session.Cohorts.Share(t.Base.Line, t, true)
}

// Asked tells whether a call of this process asks, so that others wait for its answer.
func (*Readers) Asked(b *baselock.Base) bool {
	t, _, _ := shared(b)
	return t != nil && sharing(t).Asked()
}

// LetIn has waiting calls join t. They have waited for the answer to a question of t, or behind the waiter
// that holds now. That one was the head of the local queue, or a script has made it the holder. A call that
// cannot join asks for itself, and so does every call if there is no answer.
func (*Readers) LetIn(t *baselock.Tenure) {
	b := t.Base
	if sharing(t).Asked() {
		b.Session.Cohorts.Unshare(b.Line, t)
	}
	_, line, _ := shared(b)
	if line == nil {
		return
	}
	for claim, ok := line.Claim(); ok; claim, ok = line.Claim() {
		next := claim.Who().(*locking.Caller)
		var h *baselock.Hold
		if joins(next.Base, next.Set) {
			h, _ = joinedBy(t, next.Set, line)
		}
		if h == nil {
			claim.End()
			break
		}
		if !claim.Give(h, locking.Poll(next.Base, next.Set)) {
			go h.Decline()
		}
	}
	wakeReaders(line)
}

// wakeReaders has the head ask, unless it is a writer, which is given the lock by the last of the readers. A
// preferred writer asks too, and is announced by that.
func wakeReaders(line *cohort.Cohort) {
	if next, ok := line.Next().(*locking.Caller); !ok || next.Kind.Side.Shared || next.Announces(next.Set) {
		line.Wake()
	}
}

// joined is join for a tenure, which it asks about if that is all that is missing.
func (r *Readers) joined(ctx context.Context, t *baselock.Tenure, set *settings.Settings, line *cohort.Cohort,
	try bool) (h *baselock.Hold, waits bool) {
	h, old := joinedBy(t, set, line)
	if old && r.confirm(ctx, t, line, clock.Now(), delivery.Limit{Outage: set.OutageFor(try)}) == nil {
		h, _ = joinedBy(t, set, line)
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return h, h == nil && (t.Shared.Drains() || t.Shared.Asked())
}

// joinedBy adds a hold for a call with these settings, if it may join. old says that it might if the news
// were fresh, or a new streak had begun.
func joinedBy(t *baselock.Tenure, set *settings.Settings, line *cohort.Cohort) (h *baselock.Hold, old bool) {
	now := clock.Now()
	s := t.LockStreak(false)
	defer t.Mu.Unlock()
	c, left := t.Tenant, t.Entry.TrustedUntil().Sub(now)
	switch {
	case !t.Shared.Open(), t.LostLocked() != nil, t.InDoubtLocked(), !line.Hears(),
		c.Set.WatchdogTimeout != set.WatchdogTimeout, c.Set.ReleaseTimeout != set.ReleaseTimeout,
		left < min(set.WatchdogTimeout, baselock.PassLease)/2, left > set.WatchdogTimeout:
		return nil, false
	case s.Over(now), !t.Fresh(line):
		return nil, true
	}
	t.Shared.Join()
	c.Live++
	s.Given++
	h = &baselock.Hold{Tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(now)}, Renewed: true, Path: baselock.Local,
		Group: int32(s.Given)}
	c.AddLocked(h)
	return h, false
}

// confirm finds out whether t is still held, unless that was confirmed since a moment. A new streak begins if
// no other process waits.
func (r *Readers) confirm(ctx context.Context, t *baselock.Tenure, line *cohort.Cohort, since time.Time,
	limit delivery.Limit) error {
	if err := t.LockSend(ctx); err != nil {
		return err
	}
	defer t.UnlockSend()
	t.Mu.Lock()
	lost, over, known := t.LostLocked(), t.Tenant.Live == 0, knownLocked(t, line, since)
	t.Mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case known:
		return nil
	case over:
		return baselock.ErrOver
	}
	return r.ask(ctx, t, line, limit)
}

// ask is confirm for a caller that has the send lock.
func (r *Readers) ask(ctx context.Context, t *baselock.Tenure, line *cohort.Cohort, limit delivery.Limit) error {
	s := t.Subject(1, max(t.Entry.Promised(time.Now()), time.Millisecond))
	s.Listening = locking.Listening(line)
	reply, receipt, err := delivery.Deliver(ctx, t.Base.Session.Dispatch, r.Confirm(s), limit)
	switch {
	case err != nil:
		return err
	case !reply.Held:
		return t.Lose(watchdog.NotOwned, nil)
	}
	t.Confirmed(receipt.Sent)
	t.Mu.Lock()
	defer t.Mu.Unlock()
	switch now := clock.Now(); {
	case reply.Others && t.Streak.Over(now):
		t.Shared.Drain()
	case !reply.Others:
		t.Streak.Began, t.Streak.Alone = receipt.Sent, true
	}
	return nil
}

// knownLocked tells whether it is known that t was held at that moment.
func knownLocked(t *baselock.Tenure, line *cohort.Cohort, at time.Time) bool {
	return t.Streak != nil && (t.Streak.News.After(at) || line != nil && t.Fresh(line))
}

// Vouch is what a hold says of which Redis need not hear: nil if its owner was held at a moment since which
// the hold is over.
func (r *Readers) Vouch(ctx context.Context, t *baselock.Tenure, ended time.Time, lost error) error {
	if lost != nil {
		return lost
	}
	_, line, _ := shared(t.Base)
	t.Mu.Lock()
	known, closed := knownLocked(t, line, ended), t.Shared.Closed()
	t.Mu.Unlock()
	if closed {
		t.Tenant.Adjust() // what is left may have been dropped
	}
	if known {
		return nil
	}
	limit := t.Tenant.Set.ReleaseTimeout
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := r.confirm(ctx, t, line, ended, delivery.Limit{Outage: limit})
	if err == nil || errors.Is(err, errs.Lost) {
		return err
	}
	return t.Unconfirmed(err, true)
}
