package cohort

import (
	"time"

	"github.com/redlatch/redlatch/internal/jitter"
)

// A Verdict is what one attempt found out.
type Verdict struct {
	Done bool // the waiter has what it wants
	More bool // with Done: the next waiter may be lucky at once
	All  bool // with Done: every waiter that was in the queue when the attempt began has what it wants
	Down bool // with an error: every waiter that was in the queue then would only find out the same
	// how long the head sleeps without a wake-up before the next attempt; after Done it is for the next head
	Sleep time.Duration
	// without an error: what the attempt found out, for waiters that leave before the next one; nil: nothing
	Found error
}

// answered notes what the attempt of w found, and when the head asks again: w, or its successor if w leaves.
func (q *Queue) answered(w *waiter, v Verdict) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due, q.found = time.Now().Add(v.Sleep), v.Found
	if !v.Done { // one that has what it wants must not be given it by a holder too, in the moment before it leaves
		w.state = queued
		q.admitLocked()
	}
}

// rest makes the head sleep until then, whatever its predecessor left.
func (q *Queue) rest(until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due, q.eager, q.called = until, false, false
}

// call notes that a wake-up was taken from woken, perhaps by a waiter that is served at this moment.
func (q *Queue) call() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.called = true
	if !q.headed {
		q.promoteLocked()
	}
}

// Refresh forgets the wake-ups so far. An attempt that is about to ask calls it: its answer then counts for
// all of them, and not only for those that came before the attempt began.
func (q *Queue) Refresh() {
	select {
	case <-q.woken:
	default:
	}
}

// A plan is what the head does next.
type plan struct {
	served  bool          // it has nothing to do any more
	ask     bool          // it makes an attempt, which answers for the wake-ups so far
	present uint64        // with ask: the latest arrival
	sleep   time.Duration // otherwise: for how long it sleeps before it plans again
}

// next plans for the head. unconfirmed is for how much longer it waits for the confirmation of wake-ups.
func (q *Queue) next(w *waiter, now time.Time, unconfirmed time.Duration) plan {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case w.state == served:
		return plan{served: true}
	case w.state == claimed:
		return plan{sleep: minSleep} // then it looks again: a claim may end without a signal to the waiter
	case q.called:
	case unconfirmed > 0:
		return plan{sleep: unconfirmed}
	case !q.eager && now.Before(q.due):
		return plan{sleep: q.due.Sub(now)}
	}
	q.Refresh()
	q.called, w.state = false, asking
	if unconfirmed <= 0 {
		q.eager = false
	}
	return plan{ask: true, present: q.last}
}

// minSleep is the least time between two attempts without a wake-up: a server that says "0 ms left" is not
// asked in a loop.
const minSleep = 50 * time.Millisecond

// Bound is how long to sleep when the server said that there will be nothing to have during again; a negative
// again says that the server could not tell. The sleep is no longer than poll, whatever the server said. It
// has jitter, so that processes that saw the same expiry do not all ask in the same millisecond.
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
