package watchdog

import (
	"container/heap"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/lockorder"
)

// A Watchdog keeps what is held alive: one per redis client. It needs no closing; it is at rest while nothing
// is kept.
type Watchdog struct {
	send Send

	mu       lockorder.Mutex[lockorder.Watchdog]
	schedule *schedule // the latest agreed on, which the next ticket is likely to share
	kept     deadlines
	timer    *time.Timer // runs tick; nil until first needed
	armed    instant     // when the timer fires; never when it has fired
}

// New returns a watchdog at rest. Nothing is sent before something is kept.
func New(send Send) *Watchdog {
	return &Watchdog{send: send, armed: never}
}

// Keep begins to keep t for o. The first send is due a period from now. Keeping a ticket that is kept
// already, or one of another owner or watchdog, panics.
func (w *Watchdog) Keep(t *Ticket, o Owner, terms Terms) {
	now := read()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case t.dog == nil:
		t.dog, t.owner = w, o
	case t.dog != w || t.owner != o:
		panic("watchdog: a ticket stays with the owner and the watchdog of its first Keep; give each owner its own")
	case t.place != 0:
		panic("watchdog: the ticket is kept already; use Change")
	}
	t.keeping++
	t.failures, t.cause = 0, nil
	t.agreeLocked(terms)
	t.trusted.Store(int64(min(instantOf(terms.Trusted), t.schedule.end)))
	t.due = t.firstSendLocked(now)
	heap.Push(&w.kept, t)
	w.armLocked(now)
}

// Change replaces the terms of a ticket, after a re-entry or an extension. Trust moves forward to
// terms.Trusted if that is later, and backward only to terms.End. A send planned already is not put off. For
// a ticket that was forgotten or lost it does nothing.
func (w *Watchdog) Change(t *Ticket, terms Terms) {
	now := read()
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.place == 0 {
		return
	}
	t.agreeLocked(terms)
	t.trusted.Store(int64(min(t.trustedUntil(), t.schedule.end)))
	t.trustLocked(instantOf(terms.Trusted))
	t.due = min(t.due, t.firstSendLocked(now))
	w.kept.move(t)
	w.armLocked(now)
}

// Forget ends the keeping of t; the owner calls it before it sends its release. It does not wait for sends in
// flight: their answers about t are ignored, and the context of a send that has no other ticket left ends. No
// Lost begins after Forget has returned; one that began before may still be running. Forgetting twice does no
// harm.
func (w *Watchdog) Forget(t *Ticket) {
	w.mu.Lock()
	w.forgetLocked(t)
	w.mu.Unlock()
}

// Kept calls visit for the owner of each ticket that is kept, with the watchdog locked: visit must not block,
// and must not take a mutex under which an owner calls the watchdog.
func (w *Watchdog) Kept(visit func(Owner)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.kept {
		visit(d.ticket.owner)
	}
}

func (w *Watchdog) forgetLocked(t *Ticket) {
	t.keeping++
	if t.place != 0 {
		w.dropLocked(t)
	}
}

// agreeLocked takes over all terms but the end of trust.
func (t *Ticket) agreeLocked(terms Terms) {
	p := schedule{terms.Lease, terms.Every, terms.Margin, never}
	if !terms.End.IsZero() {
		p.end = instantOf(terms.End)
	}
	if t.schedule == nil || t.schedule.lease != p.lease || t.schedule.end != p.end {
		t.version++
	}
	if t.dog.schedule == nil || *t.dog.schedule != p {
		shared := p // p itself stays off the heap
		t.dog.schedule = &shared
	}
	t.schedule = t.dog.schedule
}

// dropLocked takes t out of the deadlines and out of the sends in flight.
func (w *Watchdog) dropLocked(t *Ticket) {
	heap.Remove(&w.kept, int(t.place)-1)
	for s := t.newest; s != nil; s = s.older {
		s.call.leaveLocked()
	}
	t.newest, t.cause = nil, nil
	if len(w.kept) == 0 && w.armed != never {
		w.restLocked()
	}
}

// endLocked is loseLocked for a ticket whose trust is over by the clock.
func (w *Watchdog) endLocked(t *Ticket, now instant) {
	switch {
	case t.trustedUntil() >= t.schedule.end-instant(t.schedule.margin):
		w.loseLocked(t, now, HoldOver, nil)
	case t.schedule.lease == 0:
		w.loseLocked(t, now, LeaseOver, nil) // checks that failed did not shorten it
	case t.cause != nil:
		w.loseLocked(t, now, Unanswered, t.cause.err)
	default:
		w.loseLocked(t, now, Unanswered, nil)
	}
}

// loseLocked ends the keeping of t and tells its owner. Each owner is told on a goroutine of its own: one
// that is slow to hear it must not hold up the news for the others.
func (w *Watchdog) loseLocked(t *Ticket, now instant, reason string, cause error) {
	w.dropLocked(t)
	t.trusted.Store(int64(min(t.trustedUntil(), now)))
	keeping := t.keeping
	go func() {
		w.mu.Lock()
		current := t.keeping == keeping
		w.mu.Unlock()
		if current {
			t.owner.Lost(reason, cause)
		}
	}()
}

// armLocked sees to it that the timer fires no later than the first deadline. It may fire earlier, when the
// ticket it was armed for has gone or moved on: then tick finds nothing and arms it anew, which is cheaper
// than a reset for each ticket that comes and goes.
func (w *Watchdog) armLocked(now instant) {
	if len(w.kept) == 0 || w.kept[0].at >= w.armed {
		return
	}
	w.setLocked(now, w.kept[0].at)
}

// rest is how long the timer stays armed when nothing is kept any more.
const rest = time.Second

// restLocked lets the timer run out instead of stopping it. A program that holds one thing at a time would
// set it again for the next, and the runtime answers the setting of its earliest timer by waking a thread to
// wait for it. That thread takes the processor on which the server is about to answer: it cost such a program
// a fifth of its CPU time.
func (w *Watchdog) restLocked() {
	if now := read(); w.armed > now+instant(rest) {
		w.setLocked(now, now+instant(rest))
	}
}

// beat is the longest that the timer waits where the system may be suspended. Timers stand still meanwhile,
// and nothing else tells of a resume.
const beat = time.Second

func (w *Watchdog) setLocked(now, at instant) {
	if at > now+instant(beat) && clock.Stops() {
		at = now + instant(beat)
	}
	w.armed = at
	wait := time.Duration(max(0, at-now))
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.tick)
	} else {
		w.timer.Reset(wait)
	}
}
