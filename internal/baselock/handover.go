package baselock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/settings"
)

// A release that finds a waiter of its own process hands the lock over: without a command where that is possible (see
// heir.go), and else in one script, which removes the one owner and puts the next in its place: one round trip a section.
//
//	             claim                       moved
//	next waits ────────► next is promised ───────────► next holds ── has left meanwhile ──► handed on, or released
//	     ▲                      │
//	     └──────────────────────┘ from had lost it, or the answer is not known: next asks, under a new identity
//
// No message is sent, for nobody else could have it. So that they can, hand-overs follow one another only for so long:
// then comes a release for other processes (see pass.go), which this one lets go first.
//
// While an owner holds, the session knows of it, and those of its process who come for the lock wait for what it does
// instead of asking a server that would refuse them.

var errNotHandedOver = errors.New("redlatch: the lock was not handed over")

// announce has those of this process who come for the lock wait for what o does.
func (o *owner) announce() {
	o.post = cohort.Holder{Since: o.first.since, Gives: o.base.Kind.HandOff != nil}
	o.base.Session.Cohorts.Hold(o.base.line, &o.post)
}

// unannounce has them ask, unless o has handed the lock over or they hear of its release.
func (o *owner) unannounce(heard bool) {
	o.base.Session.Cohorts.Free(o.base.line, &o.post, heard)
}

// hears tells whether those who wait in this process will hear of a release.
func (o *owner) hears() bool {
	return o.base.Kind.HandOff != nil && o.base.Session.Cohorts.Hears(o.base.line)
}

// offer is what a waiter says to whoever may hand the lock over to it: the owner that is to hold. One that wants
// replicas to acknowledge its acquisition has to make it itself.
func (b *Base) offer(set *settings.Settings, held bool) *cohort.Request {
	if b.Kind.HandOff == nil || set.Replicas > 0 {
		return nil
	}
	return &cohort.Request{Who: newOwner(b, set), Expected: held, Poll: b.poll(set)}
}

// poll is how long a waiter that expects a hand-off sleeps before it asks Redis. A spin lock's waiter hears no messages, so it
// asks at least as often as a spin lock's longest default pause.
func (b *Base) poll(set *settings.Settings) time.Duration {
	if b.Kind.Pace != nil {
		return cohort.Bound(-1, settings.DefaultBackOffMax)
	}
	return cohort.Bound(-1, set.Poll)
}

// successor claims the waiter to whom o may hand over. There is a line without one when it is somebody else's turn.
func (o *owner) successor() (line *cohort.Cohort, claim cohort.Claim, ok bool) {
	b := o.base
	if b.Kind.HandOff == nil {
		return nil, claim, false
	}
	line, claim, ok = b.Session.Cohorts.Claim(b.line, &o.post)
	if !ok {
		return nil, claim, false
	}
	if !o.inStreak().Over(clock.Now()) {
		return line, claim, true
	}
	line.Given.Store(int64(o.streak.Given))
	claim.Yield()
	return line, claim, false
}

// inStreak is the streak of o, which begins with it if it is the end of no hand-off.
func (o *owner) inStreak() *cohort.Streak {
	if o.streak == nil {
		since := o.first.since.Time()
		o.streak = o.base.begins(cohort.Streak{Began: since, News: since})
	}
	return o.streak
}

// begins is a streak of b that begins.
func (b *Base) begins(s cohort.Streak) *cohort.Streak {
	s.Trip = b.Session.Dispatch.Trip(b.Key)
	return &s
}

// standBack gives other processes a round trip's time to take the lock: the head of the line looks at the lock before it
// asks for it. The answer is whether another owner holds the lock, and for how long still. The sitter of the head's own
// line does not count as another owner: the lock may have been passed to that sitter by a message that was lost.
func (b *Base) standBack(ctx context.Context, line *cohort.Cohort) (remaining time.Duration, held bool) {
	cmd := b.Kind.Status(Subject{Key: b.Key, Owner: line.Candidacy.Owner()})
	status, _, err := delivery.Deliver(ctx, b.Session.Dispatch, cmd, delivery.Limit{})
	return status.TTL, err == nil && status.Exists && status.Holds == 0 // an error is the attempt's to find out
}

// handOver releases the lock and acquires it for the waiter in one. An error that is certain to have changed nothing is
// errNotHandedOver: the lock is to be released.
func (o *owner) handOver(ctx context.Context, limit delivery.Limit, line *cohort.Cohort, claim cohort.Claim) error {
	next := claim.Who().(*owner)
	to := next.subject(1, next.set.FirstLease())
	to.Block = o.blockFor(next, line)
	cmd := next.base.Kind.HandOff.Atomic(o.subject(0, 0), to)
	limit.Stubborn = false // where it is hopeless a release may not be: it needs less
	returned := false
	defer func() { // a hook of the client may panic on this goroutine, and the waiter would be promised the lock for ever
		if !returned {
			claim.Refuse(newOwner(next.base, next.set))
			next.doubted()
		}
	}()
	reply, receipt, err := delivery.Within(ctx, o.base.Session.Dispatch, cmd, limit)
	returned = true
	var given *hold
	switch {
	case err != nil:
		next.abandon(delivery.AsFailure(err), cmd)
	case reply.Held:
		o.streak.Scripts++
		o.streak.Given++
		o.streak.Confirmed(receipt.Sent)
		next.streak = o.streak
		given, _, _ = next.accept(receipt, next.set.FirstLease(), reply) // an answer that came too late is the waiter's reason to ask
	}
	// An earlier send of the same that is executed late finds the former owner gone, and does nothing.
	switch {
	case given == nil:
		claim.Refuse(newOwner(next.base, next.set))
	case !claim.Give(given, next.base.poll(next.set)):
		go given.decline()
	}
	if err != nil && !delivery.AsFailure(err).Doubt {
		return errNotHandedOver
	}
	return o.gaveBack(reply.Held, receipt, err)
}

// decline gives back what nobody takes: it was handed over to a waiter who had left, say.
func (h *hold) decline() {
	if h.retire() {
		_ = h.giveBack(h.owner.base.background(h.owner.set)) // what is not confirmed goes on in the background
	}
}
