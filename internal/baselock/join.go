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
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Readers of one process are one reader to Redis: the first of them acquires, and the others join what it
// holds and leave it again without a command. How far such an owner is, and what Redis counts of its holds,
// is its [cohort.Share].
//
// A reader joins only what it could have acquired for itself: the news has to be fresh, as for a local
// hand-off, and the streak not over. When one of the two is old, a script asks whether the owner still reads,
// which is news, and whether others wait. If no other process does a new streak begins with the same owner;
// else the owner is closed, and when its last hold is given back the lock is left to the others.
//
// An Unlock that leaves other holds of its owner behind says nil, so it needs fresh news as well, and else
// the same script. Those that come while another has it under way share its answer.

// joins tells whether a call with these settings can share what others of its process hold: it has no terms
// of its own.
func (b *Base) joins(set *settings.Settings) bool {
	return b.Kind.Confirm != nil && !set.Scripted && set.Lease == 0 && set.MaxHold == 0 && set.AtLeast == 0 &&
		set.Replicas == 0
}

// shared is the owner that calls of this process may join, nil if there is none, and what
// [cohort.Registry.Shared] says beside it.
func (b *Base) shared() (o *owner, line *cohort.Cohort, waited bool) {
	shared, line, waited := b.Session.Cohorts.Shared(b.line)
	o, _ = shared.(*owner)
	return o, line, waited
}

// share opens an owner that has just acquired to others, if it can have any. Within a write hold it cannot:
// there it has the identity of the writer.
func (o *owner) share() {
	if o.host != nil || !o.base.joins(o.set) {
		return
	}
	o.mu.Lock()
	if o.lostLocked() == nil && o.live > 0 {
		o.shared.Granted()
	}
	o.mu.Unlock()
	o.base.Session.Cohorts.Share(o.base.line, o, false)
}

// forDrain is for how long a reader waits, once, for holds to be given back after which this process leaves
// the lock to others. Then it asks for itself, for who listens need not wait, and a section may last.
const forDrain = 10 * time.Millisecond

// closeShared keeps calls from joining what others of this process hold, because an attempt to share it was
// refused: a writer has announced itself.
func (b *Base) closeShared() {
	if b.Kind.Confirm == nil {
		return
	}
	if o, _, _ := b.shared(); o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.shared.Drain()
	}
}

// countedLocked is how many holds Redis is to count.
func (o *owner) countedLocked() int32 { return o.shared.Counted(o.live) }

// join has a call hold what others of its process hold. It answers nothing where the call has to ask for
// itself, and waits where it had better wait before: another call asks, or this process leaves the lock to
// others as soon as its holds are given back.
func (b *Base) join(ctx context.Context, set *settings.Settings, try bool) (h *hold, waits bool) {
	if !b.joins(set) {
		return nil, false
	}
	o, line, waited := b.shared()
	switch {
	case o == nil, waited:
		return nil, false
	case o.left():
		b.Session.Cohorts.Unshare(b.line, o)
		return nil, false
	case o.asked():
		return nil, true
	case line == nil: // from now on messages are heard, without which no news is fresh
		_, _, part := b.Session.Join(b.line, b.channels(set))
		part()
		return nil, false
	}
	if h, waits = o.joined(ctx, set, line, try); h != nil {
		runtime.Gosched() // those that run would have it all else, while others of the process wait for a processor
	}
	return h, waits
}

func (o *owner) asked() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shared.Asked()
}

// left tells whether the last hold of the owner was given back. The release may be under way for a round
// trip. A call that comes meanwhile must not find this owner, but the call that asks next, and wait for its
// answer. Else each call would ask, hold alone and release by itself, one after the other.
func (o *owner) left() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shared.Over()
}

// asked tells whether a call of this process asks, so that others wait for its answer.
func (b *Base) asked() bool {
	o, _, _ := b.shared()
	return o != nil && o.asked()
}

// letIn has waiting calls join o. They have waited for the answer to a question of o, or behind the waiter
// that holds now. That one was the head of the local queue, or a script has made it the holder. A call that
// cannot join asks for itself, and so does every call if there is no answer.
func (o *owner) letIn() {
	b := o.base
	if o.asked() {
		b.Session.Cohorts.Unshare(b.line, o)
	}
	_, line, _ := b.shared()
	if line == nil {
		return
	}
	for claim, ok := line.Claim(); ok; claim, ok = line.Claim() {
		next := claim.Who().(*owner)
		var h *hold
		if next.base.joins(next.set) {
			h, _ = o.joinedBy(next.set, line)
		}
		if h == nil {
			claim.End()
			break
		}
		if !claim.Give(h, next.base.poll(next.set)) {
			go h.decline()
		}
	}
	wakeReaders(line)
}

// wakeReaders has the head ask, unless it is a writer, which is given the lock by the last of the readers. A
// preferred writer asks too, and is announced by that.
func wakeReaders(line *cohort.Cohort) {
	if next, ok := line.Next().(*owner); !ok || next.base.Kind.side().Shared || next.base.announces(next.set) {
		line.Wake()
	}
}

// joined is join for an owner, which it asks about if that is all that is missing.
func (o *owner) joined(ctx context.Context, set *settings.Settings, line *cohort.Cohort,
	try bool) (h *hold, waits bool) {
	h, old := o.joinedBy(set, line)
	if old && o.confirm(ctx, line, clock.Now(), delivery.Limit{Outage: set.OutageFor(try)}) == nil {
		h, _ = o.joinedBy(set, line)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return h, h == nil && (o.shared.Drains() || o.shared.Asked())
}

// joinedBy adds a hold for a call with these settings, if it may join. old says that it might if the news
// were fresh, or a new streak had begun.
func (o *owner) joinedBy(set *settings.Settings, line *cohort.Cohort) (h *hold, old bool) {
	now := clock.Now()
	s := o.lockStreak(false)
	defer o.mu.Unlock()
	left := o.ticket.TrustedUntil().Sub(now)
	switch {
	case !o.shared.Open(), o.lostLocked() != nil, o.doubt != nil, !line.Hears(),
		o.set.WatchdogTimeout != set.WatchdogTimeout, o.set.ReleaseTimeout != set.ReleaseTimeout,
		left < min(set.WatchdogTimeout, passLease)/2, left > set.WatchdogTimeout:
		return nil, false
	case s.Over(now), !o.fresh(line):
		return nil, true
	}
	o.shared.Join()
	o.live++
	s.Given++
	h = &hold{owner: o, since: watchdog.MomentOf(now), renewed: true, path: local, group: int32(s.Given)}
	o.addLocked(h)
	return h, false
}

// listening is how many connections of this process listen for releases.
func listening(line *cohort.Cohort) int {
	if line.Hears() {
		return 1
	}
	return 0
}

// confirm finds out whether o is still held, unless that was confirmed since a moment. A new streak begins if
// no other process waits.
func (o *owner) confirm(ctx context.Context, line *cohort.Cohort, since time.Time, limit delivery.Limit) error {
	if err := o.lockSend(ctx); err != nil {
		return err
	}
	defer o.unlockSend()
	o.mu.Lock()
	lost, over, known := o.lostLocked(), o.live == 0, o.knownLocked(line, since)
	o.mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case known:
		return nil
	case over:
		return errOver
	}
	return o.ask(ctx, line, limit)
}

// ask is confirm for a caller that has the send lock.
func (o *owner) ask(ctx context.Context, line *cohort.Cohort, limit delivery.Limit) error {
	s := o.subject(1, max(o.ticket.Promised(time.Now()), time.Millisecond))
	s.Listening = listening(line)
	reply, receipt, err := delivery.Deliver(ctx, o.base.Session.Dispatch, o.base.Kind.Confirm(s), limit)
	switch {
	case err != nil:
		return err
	case !reply.Held:
		return o.lose(watchdog.NotOwned, nil)
	}
	o.confirmed(receipt.Sent)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch now := clock.Now(); {
	case reply.Others && o.streak.Over(now):
		o.shared.Drain()
	case !reply.Others:
		o.streak.Began, o.streak.Alone = receipt.Sent, true
	}
	return nil
}

// confirmed notes that Redis, asked at sent, had this owner.
func (o *owner) confirmed(sent time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streak != nil {
		o.streak.Confirmed(sent)
	}
}

// knownLocked tells whether it is known that o was held at that moment.
func (o *owner) knownLocked(line *cohort.Cohort, at time.Time) bool {
	return o.streak != nil && (o.streak.News.After(at) || line != nil && o.fresh(line))
}

// slip ends a hold that is retired, if others are left of its owner and Redis need not hear. lost is why it
// was lost.
func (h *hold) slip() (left bool, lost error) {
	o := h.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.shared.Leave() {
		return false, nil
	}
	o.live--
	return true, h.lostLocked()
}

// vouch is what a hold says that has slipped out: nil if its owner was held at a moment since which the hold
// is over.
func (o *owner) vouch(ctx context.Context, ended time.Time, lost error) error {
	if lost != nil {
		return lost
	}
	_, line, _ := o.base.shared()
	o.mu.Lock()
	known, closed := o.knownLocked(line, ended), o.shared.Closed()
	o.mu.Unlock()
	if closed {
		o.adjust() // what is left may have been dropped
	}
	if known {
		return nil
	}
	limit := o.set.ReleaseTimeout
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := o.confirm(ctx, line, ended, delivery.Limit{Outage: limit})
	if err == nil || errors.Is(err, errs.Lost) {
		return err
	}
	return o.unconfirmed(err, true)
}
