package fairqueue

import (
	"slices"
	"time"
)

// company is for how long a waiter whose process waits or holds already waits for a command that makes its
// entry together with others.
const company = 2 * time.Millisecond

// A Carry is a command that makes entries for the waiters of this process, and removes those of others.
type Carry struct {
	Arrivals []*Waiter     // whose entries it makes, in this order
	Finished []string      // owners whose entries it removes
	Done     chan struct{} // closed when its outcome is known
	Doubt    bool          // with Done: the outcome is not known after all, so it may make the entries later
}

// Load is what the next command of this process carries: at most so many arrivals. Carried must follow.
func (q *Queue) Load(most int) *Carry {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.loadLocked(most)
}

func (q *Queue) loadLocked(most int) *Carry {
	c := &Carry{Finished: slices.Clone(q.finished)}
	if q.carrying || len(q.outside) == 0 {
		return c
	}
	q.carrying = true
	c.Arrivals = slices.Clone(q.outside[:min(most, len(q.outside))])
	c.Done = make(chan struct{})
	for _, w := range c.Arrivals {
		w.stage, w.carry = entering, c
	}
	return c
}

// An Outcome is what became of a command.
type Outcome int

const (
	Undone  Outcome = iota // it was not executed, or did not carry anything
	Done                   // it was executed
	Unknown                // it may be executed later
	Twice                  // it was executed, and may be once more
)

// Carried ends Load. asked is a moment before the command was sent, at what the server's clock showed then,
// and again when the front is to ask.
func (q *Queue) Carried(c *Carry, outcome Outcome, asked time.Time, at int64, again time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	done := outcome == Done || outcome == Twice
	if done {
		q.clockLocked(asked, at)
		q.finished = slices.DeleteFunc(q.finished, func(owner string) bool { return slices.Contains(c.Finished, owner) })
	}
	if c.Done == nil {
		return
	}
	q.carrying = false
	c.Doubt = outcome == Unknown || outcome == Twice
	for _, w := range c.Arrivals {
		w.doubt = w.doubt || c.Doubt
		switch {
		case w.stage != entering: // it has left, or asked for itself
		case done:
			q.outside = slices.DeleteFunc(q.outside, func(other *Waiter) bool { return other == w })
			q.standLocked(w, asked, again)
		default:
			w.stage = outside
			if !c.Doubt {
				w.carry = nil
			}
		}
	}
	close(c.Done)
	q.rouseOutsideLocked()
	q.rouseLackingLocked()
}

func (q *Queue) clockLocked(sent time.Time, at int64) {
	if at > 0 && !sent.Before(q.sent) {
		q.sent, q.at = sent, at
	}
}

// rouseOutsideLocked has the first without an entry look whether it is to make one.
func (q *Queue) rouseOutsideLocked() {
	if len(q.outside) > 0 {
		q.outside[0].rouse()
	}
}

// enterLocked is what a waiter without an entry has to do now, or how long it has nothing to do.
func (q *Queue) enterLocked(w *Waiter, now time.Time) (plan Plan, sleep time.Duration) {
	if w.stage == entering || q.carrying || q.outside[0] != w || q.firstLackingLocked() != nil {
		return Plan{}, -1
	}
	if rest := w.came.Add(company).Sub(now); rest > 0 && (len(q.waiters) > 0 || q.held || w.behind) {
		return Plan{}, rest
	}
	return Plan{Task: Enter, Carry: q.loadLocked(Most)}, 0
}

// Most is how many entries a command makes.
const Most = 32
