// Package waiting is the queue of one process's waiters for one thing. They are served in the order of their arrival,
// and only the head asks, so a process has at most one attempt under way however many of its goroutines wait. It
// knows nothing of Redis.
//
// A wake-up carries no data: it makes the head ask once more. It belongs to the line, not to the waiter who happened
// to be its head, so a waiter who leaves takes none with it.
package waiting

import (
	"math/rand/v2"
	"sync"
	"time"
)

// A Line is the queue. The zero value is not ready; use NewLine.
type Line struct {
	confirmed func() <-chan struct{} // nil: there are no wake-ups, only polling
	woken     chan struct{}          // capacity 1: a wake-up that nobody has looked at yet

	mu      sync.Mutex
	waiters []*waiter // in order of arrival; the first is the head
	last    uint64    // number of the latest arrival
	eager   bool      // the next head asks before it sleeps
	due     time.Time // when the head asks again without a wake-up
}

// A waiter is one call that waits.
type waiter struct {
	number uint64
	turn   chan turn // capacity 1, one send at most
	err    error     // what a waiter that is dismissed returns; set before the send
}

// A turn ends the sleep of a waiter who is not the head.
type turn int

const (
	lead      turn = iota // it is the head now
	dismissed             // the head's attempt was for everybody
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
}

// Len is the number of waiters.
func (l *Line) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters)
}

func (l *Line) join() (w *waiter, head bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	w = &waiter{number: l.last, turn: make(chan turn, 1)}
	l.waiters = append(l.waiters, w)
	return w, len(l.waiters) == 1
}

// leave takes w out and makes its successor the head, if w was it. eager makes the successor ask at once: because a
// wake-up may have been consumed without an answer, or because there may be more to have. So does eagerness that w has
// not used.
func (l *Line) leave(w *waiter, eager bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.waiters {
		if other != w {
			continue
		}
		l.waiters = append(l.waiters[:i], l.waiters[i+1:]...)
		if i == 0 {
			l.promoteLocked(eager)
		}
		return
	}
}

func (l *Line) promoteLocked(eager bool) {
	l.eager = l.eager || eager
	if len(l.waiters) > 0 {
		l.waiters[0].turn <- lead
	}
}

// dismiss lets everybody go, with err, who was in line when number was the latest arrival: the head's attempt was for
// all of them.
func (l *Line) dismiss(number uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.waiters) && l.waiters[n].number <= number {
		if n > 0 { // the head knows
			l.waiters[n].err = err
			l.waiters[n].turn <- dismissed
		}
		n++
	}
	l.waiters = l.waiters[n:]
	l.promoteLocked(true)
}

// latest is the number of the latest arrival, taken before an attempt.
func (l *Line) latest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// schedule sets when the head, whoever it is by then, asks again.
func (l *Line) schedule(at time.Time) {
	l.mu.Lock()
	l.due = at
	l.mu.Unlock()
}

// rest makes the head sleep until then, whatever its predecessor left.
func (l *Line) rest(until time.Time) {
	l.mu.Lock()
	l.due, l.eager = until, false
	l.mu.Unlock()
}

// next tells the head whether to ask at once, else how long to sleep.
func (l *Line) next(now time.Time) (eager bool, sleep time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	eager, l.eager = l.eager, false
	return eager, max(0, l.due.Sub(now))
}

// minSleep is the least time between two attempts without a wake-up: a server that says "0 ms left" is not asked in
// a loop.
const minSleep = 50 * time.Millisecond

// Bound is how long to sleep when the server said that there is nothing to have for again: no longer than poll,
// whatever it said, and with jitter, so that processes that saw the same expiry do not all ask in the same
// millisecond. again is negative when the server could not tell.
func Bound(again, poll time.Duration) time.Duration {
	if again > 0 && again < poll {
		again += rand.N(min(again/10, 100*time.Millisecond) + 1)
		return max(minSleep, min(again, poll))
	}
	if again == 0 {
		return min(minSleep+rand.N(minSleep), max(minSleep, poll))
	}
	return max(minSleep, poll-rand.N(poll/10+1))
}
