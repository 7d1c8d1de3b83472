package fairqueue

import (
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
)

// A Queue is one process's waiters for one lock. The zero value is not ready; use New.
type Queue struct {
	Door *cohort.Queue // where first attempts are made, in order of arrival

	mu      sync.Mutex
	waiters []*Waiter // those with an entry, in its order; behind them those who lack theirs
	due     time.Time // when the front asks again without a message
	told    told
	fresh   time.Time // since when no entry is older
}

// New makes an empty queue.
func New() *Queue { return &Queue{Door: cohort.NewQueue(nil)} }

// told is the latest that a message said of when to ask.
type told struct{ at, due time.Time }

// A Waiter is one call that waits.
type Waiter struct {
	Owner    string
	Patience time.Duration // how long its entry lasts without being confirmed

	queue  *Queue
	signal chan struct{} // capacity 1: there may be something to do

	// The rest is guarded by Queue.mu.

	ask   Task // what the front is to do before its time is up
	lacks bool // its entry is gone
	place int  // of the latest answer
}

// A Task is what a waiter does next.
type Task int

const (
	Nothing Task = iota
	Alone        // ask for itself
	All          // ask, and confirm the entries of the others
	Again        // ask for itself, which makes a new entry
)

// Enter takes up a waiter whose entry was just made, as its own attempt's answer says; again is when to ask next, if
// it is the front. Call it at the door.
func (q *Queue) Enter(owner string, patience, again time.Duration) *Waiter {
	w := &Waiter{Owner: owner, Patience: patience, queue: q, signal: make(chan struct{}, 1), place: last}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiters) == 0 {
		q.fresh = time.Now()
		q.due = q.fresh.Add(again)
	}
	at := slices.IndexFunc(q.waiters, func(other *Waiter) bool { return other.lacks })
	if at < 0 {
		at = len(q.waiters)
	}
	q.waiters = slices.Insert(q.waiters, at, w)
	if at == 0 && len(q.waiters) > 1 { // the others all lack their entries
		q.due = time.Now().Add(again)
	}
	return w
}

// Wake is for a message on the waiter's channel, or when one may have been missed. It never blocks. The front asks, for
// the one who was woken may not be the first any more; if it is another after all, the answer says so.
func (w *Waiter) Wake() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.waiters, w) {
		return
	}
	if q.waiters[0] == w {
		q.askLocked(Alone)
	} else {
		q.askLocked(All)
	}
}

// confirmedNow is Wake for the moment from which messages arrive: what was sent before it is found by the front that asks
// now. To any other waiter nothing was sent, for it was not the first.
func (w *Waiter) confirmedNow() {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiters[0] == w {
		q.askLocked(Alone)
	}
}

// Told is for a message that says when to ask: w is next, and the holder's lease lasts that long. It never blocks. An
// answer that is under way may be older.
func (w *Waiter) Told(again time.Duration) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.waiters, w) {
		return
	}
	now := time.Now()
	q.told = told{now, now.Add(again)}
	if q.waiters[0] == w || q.told.due.Before(q.due) {
		q.due = q.told.due
		q.waiters[0].rouse()
	}
}

// dueLocked sets when to ask next, by the answer to a question that was asked then.
func (q *Queue) dueLocked(asked time.Time, again time.Duration) {
	q.due = time.Now().Add(again)
	if !q.told.at.Before(asked) && q.told.due.Before(q.due) {
		q.due = q.told.due
	}
}

func (q *Queue) askLocked(task Task) {
	front := q.waiters[0]
	front.ask = max(front.ask, task)
	front.rouse()
}

func (w *Waiter) rouse() {
	select {
	case w.signal <- struct{}{}:
	default: // it will look anyway
	}
}

// Leave takes the waiter out, which may make another the front. When to ask stays as it was.
func (w *Waiter) Leave() { w.queue.leave(w, time.Time{}) }

// Serve takes the waiter out because it has got the lock. Nobody needs to ask before due, unless a message comes.
func (w *Waiter) Serve(due time.Time) { w.queue.leave(w, due) }

func (q *Queue) leave(w *Waiter, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !due.IsZero() {
		q.due = due
	}
	at := slices.Index(q.waiters, w)
	q.waiters = slices.Delete(q.waiters, at, at+1)
	if at == 0 && len(q.waiters) > 0 {
		q.askLocked(min(w.ask, Alone)) // a message that w has not answered is the next front's
	}
	q.rouseLackingLocked()
}

// rouseLackingLocked lets the first of those who lack their entry make a new one. They do so one after another, so that
// they stand as before among themselves.
func (q *Queue) rouseLackingLocked() {
	if first := q.firstLackingLocked(); first != nil {
		first.rouse()
	}
}

func (q *Queue) firstLackingLocked() *Waiter {
	for _, w := range q.waiters {
		if w.lacks {
			return w
		}
	}
	return nil
}
