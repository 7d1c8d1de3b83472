// Package waiting is the queue of one process's waiters for one thing. They are served in the order of their arrival,
// and only the head asks, so a process has at most one attempt under way however many of its goroutines wait. It
// knows nothing of Redis.
//
// A wake-up carries no data: it makes the head ask once more. It belongs to the line, not to the waiter who happened
// to be its head, so a waiter who leaves takes none with it.
//
// Whoever of this process has the thing may give it to the first in line without anybody asking: see Line.Claim.
package waiting

import (
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/jitter"
)

// A Line is the queue. The zero value is not ready; use NewLine.
type Line struct {
	confirmed func() <-chan struct{} // nil: there are no wake-ups, only polling
	woken     chan struct{}          // capacity 1: a wake-up that nobody has looked at yet

	mu      sync.Mutex
	waiters []*waiter   // in order of arrival
	headed  bool        // the first of them is the head; else it sleeps until it is given the thing, or made the head
	last    uint64      // number of the latest arrival
	called  bool        // the head asks as soon as it can
	eager   bool        // the head asks as soon as wake-ups are confirmed
	due     time.Time   // when the head asks again without a wake-up
	stands  bool        // the head lets others ask first, once
	alarm   *time.Timer // wakes a line without a head
	found   error       // what the latest attempt has found out so far: a refusal, or a failure; nil: nothing, or it succeeded
}

// A waiter is one call that waits.
type waiter struct {
	number uint64
	offer  *Offer    // nil: it cannot be given anything
	turn   chan turn // capacity 2: it becomes the head, and then is served
	err    error     // what it returns when it has been served; set before the send

	// Guarded by Line.mu.
	asking  bool // its attempt is under way
	claimed bool // somebody may be about to give it the thing
	served  bool // it has been given the thing, or somebody's attempt was for everybody
	left    bool // it has gone
}

// A turn ends the sleep of a waiter.
type turn int

const (
	lead   turn = iota // it is the head now
	served             // it need not wait any longer
)

// NewLine makes an empty line. confirmed gives the channel that is closed once wake-ups can arrive.
func NewLine(confirmed func() <-chan struct{}) *Line {
	return &Line{confirmed: confirmed, woken: make(chan struct{}, 1), eager: true}
}

// Wake makes the head ask again. It never blocks, and any number of wake-ups that come before the head looks are one.
func (l *Line) Wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.headed {
		l.promoteLocked()
	}
}

// Note has those behind the head know what its attempt has found out, also while that is still under way.
func (l *Line) Note(found error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = found
}

// Found is what was noted last.
func (l *Line) Found() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}

// Len is the number of waiters.
func (l *Line) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters)
}

// join puts a waiter at the end. It is the head if it is alone, unless it expects to be given the thing and no news have
// come since it was told so.
func (l *Line) join(offer *Offer) (w *waiter, head bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	w = &waiter{number: l.last, offer: offer, turn: make(chan turn, 2)}
	l.waiters = append(l.waiters, w)
	if len(l.waiters) > 1 {
		return w, false
	}
	l.headed = offer == nil || !offer.Expected || l.newsLocked()
	if !l.headed {
		l.alarmLocked(offer.Poll)
	}
	return w, l.headed
}

// leave takes w out and makes its successor the head, if w was it. call makes the successor ask at once: because a
// wake-up may have been consumed without an answer, or because there may be more to have. It reports whether w had
// been served before.
func (l *Line) leave(w *waiter, call bool) (served bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.left = true
	for i, other := range l.waiters {
		if other != w {
			continue
		}
		l.removeLocked(i, i+1)
		if i == 0 && l.headed {
			l.called = l.called || call
			l.promoteLocked()
		}
		break
	}
	return w.served
}

// removeLocked clears what it takes out: the array behind the slice lives as long as somebody waits.
func (l *Line) removeLocked(from, to int) {
	n := copy(l.waiters[from:], l.waiters[to:])
	clear(l.waiters[from+n:])
	l.waiters = l.waiters[:from+n]
}

func (l *Line) promoteLocked() {
	l.headed = len(l.waiters) > 0
	if l.headed {
		l.waiters[0].turn <- lead
	}
}

// dismiss lets everybody go, with err, who was in line when number was the latest arrival: the head's attempt was for
// all of them.
func (l *Line) dismiss(number uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = err
	n := 0
	for n < len(l.waiters) && l.waiters[n].number <= number {
		l.serveLocked(l.waiters[n], err)
		n++
	}
	l.removeLocked(0, n)
	l.called = true
	l.promoteLocked()
}

func (l *Line) serveLocked(w *waiter, err error) {
	w.served, w.err = true, err
	w.turn <- served
}

// answered notes when the head, whoever it is by then, asks again.
func (l *Line) answered(w *waiter, again time.Time, found error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due, l.found, w.asking = again, found, false
}

// rest makes the head sleep until then, whatever its predecessor left.
func (l *Line) rest(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due, l.eager, l.called = until, false, false
}

// call notes that a wake-up was taken from woken, perhaps by a waiter who is served at this moment.
func (l *Line) call() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.called = true
	if !l.headed {
		l.promoteLocked()
	}
}

func (l *Line) drain() {
	select {
	case <-l.woken:
	default:
	}
}

// newsLocked tells whether there are wake-ups that no attempt has answered.
func (l *Line) newsLocked() bool { return l.called || len(l.woken) > 0 }

// A plan is what the head does next.
type plan struct {
	served  bool          // nothing
	ask     bool          // the attempt answers for the wake-ups so far
	present uint64        // with ask: the latest arrival
	sleep   time.Duration // else
}

// next plans for the head. unconfirmed is how long the confirmation of wake-ups is waited for still.
func (l *Line) next(w *waiter, now time.Time, unconfirmed time.Duration) plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case w.served:
		return plan{served: true}
	case w.claimed:
		return plan{sleep: minSleep} // and then it looks again: a claim may end without a word to it
	case l.called:
	case unconfirmed > 0:
		return plan{sleep: unconfirmed}
	case !l.eager && now.Before(l.due):
		return plan{sleep: l.due.Sub(now)}
	}
	l.drain()
	l.called, w.asking = false, true
	if unconfirmed <= 0 {
		l.eager = false
	}
	return plan{ask: true, present: l.last}
}

// minSleep is the least time between two attempts without a wake-up: a server that says "0 ms left" is not asked in
// a loop.
const minSleep = 50 * time.Millisecond

// Bound is how long to sleep when the server said that there is nothing to have for again: no longer than poll,
// whatever it said, and with jitter, so that processes that saw the same expiry do not all ask in the same
// millisecond. again is negative when the server could not tell.
func Bound(again, poll time.Duration) time.Duration {
	if again > 0 && again < poll {
		again += jitter.Below(min(again/10, 100*time.Millisecond) + 1)
		return max(minSleep, min(again, poll))
	}
	if again == 0 {
		return min(minSleep+jitter.Below(minSleep), max(minSleep, poll))
	}
	return max(minSleep, poll-jitter.Below(poll/10+1))
}
