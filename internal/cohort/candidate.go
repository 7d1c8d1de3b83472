package cohort

import (
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// A Candidacy is what a cohort knows of its place in the process queue, in Redis.
type Candidacy struct {
	mu      lockorder.Mutex[lockorder.Candidacy]
	current *Candidate // nil: there is none
	unused  bool       // the last waiter has left the cohort: a candidate made now would not be settled
}

// A Candidate is the identity that is to hold when another process hands the lock to this one, or when the
// head asks and the lock is free. It enters the process queue when the head asks in vain (an ask), or by a
// release of this process before the head (an enqueuing). Both may be under way at once.
//
//	       ask, or enqueuing                    the lock comes
//	none ─────────────────────► in the queue, perhaps ────────────► won: it is an owner's, and no candidate any more
//	                                    │
//	                                    └── the last waiter leaves, or what became of a command is unknown ──► over
//
// A candidate that is over is settled: it is taken out of the process queue, and what was handed to it is
// released.
//
// The lock may come by a message or as the answer to an ask, but must not come twice. So while an ask is
// under way the message is not believed: the answer to that ask, or to the next one, says the same.
//
// A candidate that won must not be settled on account of an enqueuing. So when the outcome of an enqueuing is
// unknown and an ask is still under way, the ask decides what becomes of the candidate.
type Candidate struct {
	Owner string

	// Guarded by Candidacy.mu.
	stage   stage
	entry   entry
	flights flights
	sent    time.Time // a moment before the server's clock was at
	at      int64     // in milliseconds; 0: sent is a moment before the entry was made
	since   time.Time // a moment before the enqueuing was sent
}

// A stage is how far a candidate is.
type stage int

const (
	pending stage = iota
	won           // it holds; nothing makes it over any more
	over          // no waiter wants it, or the outcome of its last command is unknown
)

// An entry is what is known of the candidate's entry in the process queue. Doubted is for good.
type entry int

const (
	none    entry = iota
	made          // it may be there
	doubted       // and a command that may still be executed would make it again
)

// flights are the commands under way that may make the entry, or win.
type flights int

const (
	ask flights = 1 << iota
	enqueuing
)

// Ask returns the candidate as which the head asks. Refused, Won or Failed must follow.
func (y *Candidacy) Ask(mint func() string) *Candidate {
	y.mu.Lock()
	defer y.mu.Unlock()
	c := y.currentLocked(mint)
	c.flights |= ask
	return c
}

// Owner is the candidate's identity, or empty if there is none.
func (y *Candidacy) Owner() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.current == nil {
		return ""
	}
	return y.current.Owner
}

func (y *Candidacy) currentLocked(mint func() string) *Candidate {
	if y.current == nil {
		y.current = &Candidate{Owner: mint()}
	}
	return y.current
}

// Refused ends an ask that did not get the lock, perhaps because it was not executed. sent is when it was
// sent. at is what the server's clock showed; 0 says that the ask made no entry, though there may be one from
// before. settle is whether the caller has to settle the candidate.
func (y *Candidacy) Refused(c *Candidate, sent time.Time, at int64) (settle bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	c.flights &^= ask
	if at > 0 {
		c.entry, c.sent, c.at = max(c.entry, made), sent, at
	}
	return c.settleLocked()
}

// Won ends an ask that brought the lock.
func (y *Candidacy) Won(c *Candidate) {
	y.mu.Lock()
	defer y.mu.Unlock()
	c.flights &^= ask
	y.wonLocked(c)
}

func (y *Candidacy) wonLocked(c *Candidate) {
	c.stage = won
	y.dropLocked(c)
}

func (y *Candidacy) dropLocked(c *Candidate) {
	if y.current == c {
		y.current = nil
	}
}

// settleLocked tells whether the candidate has to be taken out of the process queue.
func (c *Candidate) settleLocked() bool {
	return c.stage == over && c.flights == 0 && c.entry != none
}
