package fairqueue

import (
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/lockorder"
)

// A Queue is one process's waiters for one lock. The zero value is ready.
type Queue struct {
	mu       lockorder.Mutex[lockorder.FairQueue]
	outside  []*Waiter // those that have no entry yet, in order of arrival
	carrying bool      // a command that makes entries is under way
	waiters  []*Waiter // those with an entry, in its order; behind them those who lack theirs
	due      time.Time // when the front asks again without a message
	told     told
	fresh    time.Time // since when no entry is older
	foreign  bool      // owners wait or hold that are not of this library
	found    error     // what the latest attempt has found out

	held     bool     // by a waiter of this process
	holder   string   // the owner that Redis names, or named, as which waiters of this process hold
	row      []string // numbers of the owners that stand behind that one
	finished []string // owners whose entries are to be removed
	void     time.Time
	sent     time.Time // a moment before the server's clock was at
	at       int64     // in milliseconds
}

// told is the latest that a message said of when to ask.
type told struct{ at, due time.Time }

// A Waiter is one call that waits.
type Waiter struct {
	Owner    string
	Patience time.Duration // how long its entry lasts without being confirmed
	Who      any           // what a holder of its process needs to know before it hands the lock on

	queue  *Queue
	signal chan struct{} // capacity 1: there may be something to do
	came   time.Time
	behind bool // its process held the lock when it came

	// The rest is guarded by Queue.mu.

	stage   stage
	carry   *Carry    // the command that makes, or has made, its entry
	asking  bool      // a command of its own is under way
	anew    bool      // which makes its entry anew
	handed  *HandedTo // the lock was handed to it, in Redis
	refused int64     // what the server's clock showed when it was refused last, in milliseconds
	grant   any       // what a holder of this process gave it
	ask     Task      // what the front is to do before its time is up
	lacks   bool      // its entry is gone
	place   int       // of the latest answer
	first   time.Time
	listens bool // to its own channel
	stood   bool // it has had an entry
	doubt   bool // a command may still make it one
}

// A stage is how far a waiter is.
type stage int

const (
	outside  stage = iota
	entering       // a command that makes its entry is under way
	standing
	served
	gone
)

// A HandedTo is an owner of this process that was made to hold.
type HandedTo struct {
	Row   []string  // the number of that owner, and of those of this process that stand behind it, one behind the other
	Since time.Time // a moment before; zero: reckon from At
	At    int64     // what the server's clock showed, in milliseconds
}

// Number is the part of an owner that tells those of one session apart.
func Number(owner string) string { return owner[strings.LastIndexByte(owner, ':')+1:] }

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

// standLocked takes up a waiter whose entry was just made; again is when to ask next, if it is the front.
func (q *Queue) standLocked(w *Waiter, made time.Time, again time.Duration) {
	w.stage, w.stood = standing, true
	if len(q.waiters) == 0 {
		q.fresh = made
		q.due = time.Now().Add(again)
	}
	at := slices.IndexFunc(q.waiters, func(other *Waiter) bool { return other.lacks })
	if at < 0 {
		at = len(q.waiters)
	}
	q.waiters = slices.Insert(q.waiters, at, w)
	if at == 0 && len(q.waiters) > 1 { // the others all lack their entries
		q.dueLocked(made, again)
	}
	w.rouse()
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

// findLocked is the waiter with an entry, or one under way, whose owner has that number.
func (q *Queue) findLocked(number string) *Waiter {
	for _, all := range [...][]*Waiter{q.waiters, q.outside} {
		for _, w := range all {
			if Number(w.Owner) == number {
				return w
			}
		}
	}
	return nil
}

// Note keeps what an attempt has found out, for those of this process who wait or try.
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

// Len is how many wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.outside) + len(q.waiters)
}

// Oldest is how many wait, and since when the first of them does.
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

// Serve takes the waiter out because it has got the lock: those of the row stand behind it, one behind the
// other. None needs to ask before due, unless a message comes.
func (w *Waiter) Serve(due time.Time, row []string) {
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held, q.holder, q.row = true, w.Owner, row
	q.askedLocked(w)
	q.leaveLocked(w, due)
}

func (q *Queue) leaveLocked(w *Waiter, due time.Time) {
	if !due.IsZero() {
		q.due = due
	}
	w.stage = gone
	if at := slices.Index(q.outside, w); at >= 0 {
		q.outside = slices.Delete(q.outside, at, at+1)
		q.rouseOutsideLocked()
		return
	}
	at := slices.Index(q.waiters, w)
	q.waiters = slices.Delete(q.waiters, at, at+1)
	if at == 0 && len(q.waiters) > 0 {
		q.askLocked(min(w.ask, Alone)) // a message that w has not answered is the next front's
	}
	q.rouseLackingLocked()
	q.rouseOutsideLocked()
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
