package baselock

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Readers of one process are one reader to Redis: the first of them acquires, and the others join what it
// holds and leave it again without a command. How far such a tenure is, and what Redis counts of its holds,
// is its [cohort.Share].
//
// A reader joins only what it could have acquired for itself: the news has to be fresh, as for a local
// hand-off, and the streak not over. When one of the two is old, a script asks whether the process still reads,
// which is news, and whether others wait. If no other process does a new streak begins with the same owner;
// else the tenure is closed, and when its last hold is given back the lock is left to the others.
//
// An Unlock that leaves other holds of its owner behind says nil, so it needs fresh news as well, and else
// the same script. Those that come while another has it under way share its answer.

// joins tells whether a call with these settings can share what others of its process hold: it has no terms
// of its own.
func (b *Base) joins(set *settings.Settings) bool {
	return b.Kind.Sharing != nil && !set.Scripted && set.Lease == 0 && set.MaxHold == 0 && set.AtLeast == 0 &&
		set.Replicas == 0
}

// shared is the tenure that calls of this process may join, nil if there is none, and what
// [cohort.Registry.Shared] says beside it.
func (b *Base) shared() (t *tenure, line *cohort.Cohort, waited bool) {
	shared, line, waited := b.Session.Cohorts.Shared(b.line)
	t, _ = shared.(*tenure)
	return t, line, waited
}

// Began opens a tenure that has just acquired to others, if it can have any. Within a write hold it cannot:
// there it has the identity of the writer.
func (*Readers) Began(t *tenure) {
	if t.host != nil || !t.base.joins(t.first.set) {
		return
	}
	t.mu.Lock()
	if t.lostLocked() == nil && t.first.live > 0 {
		t.shared.Granted()
	}
	t.mu.Unlock()
	t.base.Session.Cohorts.Share(t.base.line, t, false)
}

// Join is join for the head of the local queue.
func (r *Readers) Join(ctx context.Context, b *Base, set *settings.Settings,
	line *cohort.Cohort) (h *hold, drain time.Duration) {
	t, _, _ := b.shared()
	if t == nil || !b.joins(set) {
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
func (*Readers) Refused(b *Base) {
	if t, _, _ := b.shared(); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.shared.Drain()
	}
}

// join has a call hold what others of its process hold. It answers nothing where the call has to ask for
// itself, and waits where it had better wait before: another call asks, or this process leaves the lock to
// others as soon as its holds are given back.
func (r *Readers) join(ctx context.Context, b *Base, set *settings.Settings, try bool) (h *hold, waits bool) {
	if !b.joins(set) {
		return nil, false
	}
	t, line, waited := b.shared()
	switch {
	case t == nil, waited:
		return nil, false
	case t.sharing().Over():
		// Its release may be under way for a round trip. A call that comes meanwhile must not find this tenure, but
		// the call that asks next, and wait for its answer. Else each would ask, hold alone and release by itself.
		b.Session.Cohorts.Unshare(b.line, t)
		return nil, false
	case t.sharing().Asked():
		return nil, true
	case line == nil: // from now on messages are heard, without which no news is fresh
		_, _, part := b.Session.Join(b.line, b.channels(set))
		part()
		return nil, false
	}
	if h, waits = r.joined(ctx, t, set, line, try); h != nil {
		runtime.Gosched() // those that run would have it all else, while others of the process wait for a processor
	}
	return h, waits
}

// sharing is how far the tenure is now.
func (t *tenure) sharing() cohort.Share {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shared
}

// Asks has calls that can share the lock wait for the answer to the question of t.
func (*Readers) Asks(t *tenure) bool {
	return t.base.joins(t.first.set) && t.base.Session.Cohorts.Share(t.base.line, t, true)
}

// Asked tells whether a call of this process asks, so that others wait for its answer.
func (*Readers) Asked(b *Base) bool {
	t, _, _ := b.shared()
	return t != nil && t.sharing().Asked()
}

// LetIn has waiting calls join t. They have waited for the answer to a question of t, or behind the waiter
// that holds now. That one was the head of the local queue, or a script has made it the holder. A call that
// cannot join asks for itself, and so does every call if there is no answer.
func (*Readers) LetIn(t *tenure) {
	b := t.base
	if t.sharing().Asked() {
		b.Session.Cohorts.Unshare(b.line, t)
	}
	_, line, _ := b.shared()
	if line == nil {
		return
	}
	for claim, ok := line.Claim(); ok; claim, ok = line.Claim() {
		next := claim.Who().(*caller)
		var h *hold
		if next.joins(next.set) {
			h, _ = t.joinedBy(next.set, line)
		}
		if h == nil {
			claim.End()
			break
		}
		if !claim.Give(h, next.poll(next.set)) {
			go h.decline()
		}
	}
	wakeReaders(line)
}

// wakeReaders has the head ask, unless it is a writer, which is given the lock by the last of the readers. A
// preferred writer asks too, and is announced by that.
func wakeReaders(line *cohort.Cohort) {
	if next, ok := line.Next().(*caller); !ok || next.Kind.side().Shared || next.announces(next.set) {
		line.Wake()
	}
}

// joined is join for a tenure, which it asks about if that is all that is missing.
func (r *Readers) joined(ctx context.Context, t *tenure, set *settings.Settings, line *cohort.Cohort,
	try bool) (h *hold, waits bool) {
	h, old := t.joinedBy(set, line)
	if old && r.confirm(ctx, t, line, clock.Now(), delivery.Limit{Outage: set.OutageFor(try)}) == nil {
		h, _ = t.joinedBy(set, line)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return h, h == nil && (t.shared.Drains() || t.shared.Asked())
}

// joinedBy adds a hold for a call with these settings, if it may join. old says that it might if the news
// were fresh, or a new streak had begun.
func (t *tenure) joinedBy(set *settings.Settings, line *cohort.Cohort) (h *hold, old bool) {
	now := clock.Now()
	s := t.lockStreak(false)
	defer t.mu.Unlock()
	c, left := t.tenant, t.entry.TrustedUntil().Sub(now)
	switch {
	case !t.shared.Open(), t.lostLocked() != nil, t.rare.doubt != nil, !line.Hears(),
		c.set.WatchdogTimeout != set.WatchdogTimeout, c.set.ReleaseTimeout != set.ReleaseTimeout,
		left < min(set.WatchdogTimeout, passLease)/2, left > set.WatchdogTimeout:
		return nil, false
	case s.Over(now), !t.fresh(line):
		return nil, true
	}
	t.shared.Join()
	c.live++
	s.Given++
	h = &hold{tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(now)}, renewed: true, path: local, group: int32(s.Given)}
	c.addLocked(h)
	return h, false
}

// confirm finds out whether t is still held, unless that was confirmed since a moment. A new streak begins if
// no other process waits.
func (r *Readers) confirm(ctx context.Context, t *tenure, line *cohort.Cohort, since time.Time, limit delivery.Limit) error {
	if err := t.lockSend(ctx); err != nil {
		return err
	}
	defer t.unlockSend()
	t.mu.Lock()
	lost, over, known := t.lostLocked(), t.tenant.live == 0, t.knownLocked(line, since)
	t.mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case known:
		return nil
	case over:
		return errOver
	}
	return r.ask(ctx, t, line, limit)
}

// ask is confirm for a caller that has the send lock.
func (r *Readers) ask(ctx context.Context, t *tenure, line *cohort.Cohort, limit delivery.Limit) error {
	s := t.subject(1, max(t.entry.Promised(time.Now()), time.Millisecond))
	s.Listening = listening(line)
	reply, receipt, err := delivery.Deliver(ctx, t.base.Session.Dispatch, r.Confirm(s), limit)
	switch {
	case err != nil:
		return err
	case !reply.Held:
		return t.lose(watchdog.NotOwned, nil)
	}
	t.confirmed(receipt.Sent)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch now := clock.Now(); {
	case reply.Others && t.streak.Over(now):
		t.shared.Drain()
	case !reply.Others:
		t.streak.Began, t.streak.Alone = receipt.Sent, true
	}
	return nil
}

// knownLocked tells whether it is known that t was held at that moment.
func (t *tenure) knownLocked(line *cohort.Cohort, at time.Time) bool {
	return t.streak != nil && (t.streak.News.After(at) || line != nil && t.fresh(line))
}

// Vouch is what a hold says of which Redis need not hear: nil if its owner was held at a moment since which the hold
// is over.
func (r *Readers) Vouch(ctx context.Context, t *tenure, ended time.Time, lost error) error {
	if lost != nil {
		return lost
	}
	_, line, _ := t.base.shared()
	t.mu.Lock()
	known, closed := t.knownLocked(line, ended), t.shared.Closed()
	t.mu.Unlock()
	if closed {
		t.tenant.adjust() // what is left may have been dropped
	}
	if known {
		return nil
	}
	limit := t.tenant.set.ReleaseTimeout
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := r.confirm(ctx, t, line, ended, delivery.Limit{Outage: limit})
	if err == nil || errors.Is(err, errs.Lost) {
		return err
	}
	return t.unconfirmed(err, true)
}
