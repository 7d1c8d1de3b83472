package fairqueue

import (
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// A Queue is one process's waiters for one lock. The zero value is ready.
type Queue struct {
	mu       lockorder.Mutex[lockorder.FairQueue]
	outside  []*Waiter // waiters that have no entry yet, in order of arrival
	carrying bool      // a command that makes entries is under way
	waiters  []*Waiter // waiters with an entry, in its order; behind them the ones that lack theirs
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

// A Carry is a command that makes entries for waiters of this process, and removes entries of others.
type Carry struct {
	Arrivals []*Waiter     // whose entries it makes, in this order
	Finished []string      // owners whose entries it removes
	Done     chan struct{} // closed when its outcome is known
	Doubt    bool          // with Done: the outcome is not known after all, so it may make the entries later
}

// An Outcome is what became of a command.
type Outcome int

const (
	Undone  Outcome = iota // it was not executed, or did not carry anything
	Done                   // it was executed
	Unknown                // it may be executed later
	Twice                  // it was executed, and may be once more
)

// A HandedTo is an owner of this process that was made to hold.
type HandedTo struct {
	Row   []string  // the numbers of that owner, and of the owners of this process right behind it
	Since time.Time // a moment before; zero: reckon from At
	At    int64     // what the server's clock showed, in milliseconds
}

// Number is the part of an owner that tells the owners of one session apart.
func Number(owner string) string { return owner[strings.LastIndexByte(owner, ':')+1:] }

// last is the place of a waiter whose place is not known, because no other stands behind it.
const last = int(^uint(0) >> 1)

// A Task is what a waiter does next.
type Task int

const (
	Nothing Task = iota
	Alone        // ask for itself
	All          // ask, and confirm the entries of the others
	Again        // ask for itself, which makes a new entry
	Enter        // ask for itself for the first time, which makes its entry, and carry what the process has to say
	Listen       // to its own channel, as Redisson's waiters do
	Handed       // hold: the lock was handed to it, in Redis
	Served       // return: it was given the lock
)

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

// rouseOutsideLocked has the first without an entry look whether it is to make one.
func (q *Queue) rouseOutsideLocked() {
	if len(q.outside) > 0 {
		q.outside[0].rouse()
	}
}

func (q *Queue) clockLocked(sent time.Time, at int64) {
	if at > 0 && !sent.Before(q.sent) {
		q.sent, q.at = sent, at
	}
}

// rouseLackingLocked lets the first waiter that lacks its entry make a new one. They do so one after another,
// so that they stand as before among themselves.
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

// overLocked is the owner of that number, if its entry is to be removed; else empty.
func (q *Queue) overLocked(number string) string {
	i := slices.IndexFunc(q.finished, func(owner string) bool { return Number(owner) == number })
	if i < 0 {
		return ""
	}
	return q.finished[i]
}
