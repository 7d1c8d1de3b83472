package fairqueue

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
)

// Come takes up a call that begins to wait. held says that this process holds the lock; lonely, that it does
// not and no other call of it waits.
func (q *Queue) Come(owner string, patience time.Duration, who any, held bool) (w *Waiter, lonely bool) {
	w = &Waiter{Owner: owner, Patience: patience, Who: who, queue: q, signal: make(chan struct{}, 1), came: time.Now(),
		place: last}
	q.mu.Lock()
	defer q.mu.Unlock()
	w.behind = held
	lonely = !held && !q.held && len(q.waiters)+len(q.outside) == 0
	q.outside = append(q.outside, w)
	return w, lonely
}

// Waited is for how long the waiter has been there.
func (w *Waiter) Waited() time.Duration { return time.Since(w.came) }

// Stood tells whether the waiter has had an entry, and doubt whether a command may still make it one.
func (w *Waiter) Stood() (stood, doubt bool) {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	return w.stood, w.doubt
}

// Wake is for the message that the lock may be free and w next. It never blocks. If w is not the front, the
// front of this process has lost its place: then it asks for all. The answer is an owner that is finished
// with, whose entry is in the way.
func (q *Queue) Wake(number string) (over string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.findLocked(number)
	switch {
	case w == nil:
		return q.overLocked(number)
	case w.stage != standing:
	case q.waiters[0] == w:
		q.askLocked(Alone)
	default:
		q.askLocked(All)
	}
	return ""
}

// Missed is for messages that may have been missed.
func (q *Queue) Missed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiters) > 0 {
		q.askLocked(All)
	}
}

// Told is for a message that says when to ask: the owner is next, and the holder's lease lasts that long. It
// never blocks. An answer that is under way may be older.
func (q *Queue) Told(number string, again time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.findLocked(number)
	if w == nil || w.stage != standing {
		return
	}
	now := time.Now()
	q.told = told{now, now.Add(again)}
	if q.waiters[0] == w || q.told.due.Before(q.due) {
		q.due = q.told.due
		q.waiters[0].rouse()
	}
}

// Note keeps what an attempt has found out, for the calls of this process that wait or try.
func (q *Queue) Note(found error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.found = found
}

// Found is what was noted last.
func (q *Queue) Found() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.found
}

// Len is the number of waiters.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.outside) + len(q.waiters)
}

// Oldest is the number of waiters, and since when the first of them waits.
func (q *Queue) Oldest() (waiters int, since time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, all := range [...][]*Waiter{q.waiters, q.outside} {
		for _, w := range all {
			if since.IsZero() || w.came.Before(since) {
				since = w.came
			}
		}
		waiters += len(all)
	}
	return waiters, since
}

// Idle tells whether nothing is left that the next command has to carry.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.finished) == 0
}

// Leave takes the waiter out, which may make another the front. When to ask stays as it was. It answers what
// the waiter was given at the same moment, if it was; and else the command that makes, or has made, its
// entry, nil if there was none.
func (w *Waiter) Leave() (grant any, carry *Carry) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.stage == served {
		return w.grant, w.carry
	}
	q.leaveLocked(w, time.Time{})
	return nil, w.carry
}

// Serve takes the waiter out because it has got the lock: the owners of the row stand behind it, one behind
// the other. None needs to ask before due, unless a message comes.
func (w *Waiter) Serve(due time.Time, row []string) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held, q.holder, q.row = true, w.Owner, row
	q.askedLocked(w)
	q.leaveLocked(w, due)
}

// Since is a moment before the server's clock showed what the message says. It is zero, which no trust
// outlasts, where the last question is too old to tell that: the owner asks then, and its answer says since
// when it holds.
func (q *Queue) Since(h *HandedTo) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !h.Since.IsZero() {
		return h.Since
	}
	asked, now := clock.Aged(q.sent), clock.Now()
	if now.Sub(asked) > clock.OldestReading {
		return time.Time{}
	}
	since := asked.Add(time.Duration(h.At-q.at-1) * time.Millisecond) // both are whole milliseconds
	if since.After(now) {                                             // the server's clock was set
		return now
	}
	return since
}
