package cohort

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
)

// Failed ends an ask of which it is unknown whether it was, or will be, executed. The candidate is over, and
// the caller settles it.
func (y *Candidacy) Failed(c *Candidate) {
	y.mu.Lock()
	defer y.mu.Unlock()
	c.flights &^= ask
	c.stage, c.entry = over, doubted
	y.dropLocked(c)
}

// Enqueue returns the candidate that a release enters into the process queue, nil when the last waiter has
// left. Enqueued or Unknown must follow.
func (y *Candidacy) Enqueue(mint func() string) *Candidate {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.unused {
		return nil
	}
	c := y.currentLocked(mint)
	c.flights |= enqueuing
	c.since = clock.Now()
	// else it has an entry, and may have been handed the lock before now, if the releaser has lost that
	if c.sent.IsZero() {
		c.sent = c.since
	}
	return c
}

// Enqueued ends Enqueue by a release whose outcome is known: it was executed or not. at is what the server's
// clock showed then, 0 if that is not known.
func (y *Candidacy) Enqueued(c *Candidate, executed bool, at int64) (settle bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	c.flights &^= enqueuing
	if executed {
		c.entry = max(c.entry, made)
		if at > c.at { // else an ask has found out more since
			c.sent, c.at = c.since, at
		}
	}
	return c.settleLocked()
}

// Unknown ends Enqueue by a release of which it is unknown whether it was, or will be, executed.
func (y *Candidacy) Unknown(c *Candidate) (settle bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	c.flights &^= enqueuing
	c.entry = doubted
	if c.flights == 0 && c.stage != won {
		c.stage = over
		y.dropLocked(c)
	}
	return c.settleLocked()
}

// use notes that a call waits again.
func (y *Candidacy) use() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.unused = false
}

// Withdraw ends the candidate of a head that could not take what is handed to it. It returns the candidate if
// that has to be settled, else nil.
func (y *Candidacy) Withdraw() *Candidate {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.endLocked()
}

// leave notes that the last waiter has left. It returns the candidate if that has to be settled, else nil.
func (y *Candidacy) leave() *Candidate {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.unused = true
	return y.endLocked()
}

func (y *Candidacy) endLocked() *Candidate {
	c := y.current
	if c == nil {
		return nil
	}
	c.stage = over
	y.dropLocked(c)
	if !c.settleLocked() {
		return nil
	}
	return c
}

// InDoubt tells whether a candidate that has to be settled may get an entry later.
func (y *Candidacy) InDoubt(c *Candidate) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return c.entry == doubted
}

// A HandOff is what is to be done with a lock that another process has handed to an owner of this one.
type HandOff int

const (
	// nothing: the owner is not the candidate, or an ask will find out, or settling gives the lock back
	Ignored  HandOff = iota
	Declined         // give it back: the first waiter cannot be given it
	Claimed          // give it to the claimed waiter
)

// HandedTo takes note that the lock was handed to owner when the server's clock showed at. since is a moment
// before that. Where the last question is too old to tell it, as WithPoll of an hour leaves, the head asks:
// that costs a round trip, and its answer says since when the lock is held.
func (c *Cohort) HandedTo(owner string, at int64) (what HandOff, claim Claim, since time.Time) {
	y := &c.Candidacy
	y.mu.Lock()
	defer y.mu.Unlock()
	candidate := y.current
	if candidate == nil || candidate.Owner != owner {
		return Ignored, claim, since
	}
	since, now := clock.Aged(candidate.sent), clock.Now()
	if old := candidate.at > 0 && now.Sub(since) > clock.OldestReading; old || candidate.flights&ask != 0 {
		c.Wake()
		return Ignored, claim, time.Time{}
	}
	claim, ok := c.Claim()
	if !ok && !c.declines() {
		c.Wake() // a call may be about to join the queue, or the end of a release is still to be told to the first
		return Ignored, claim, time.Time{}
	}
	if elapsed := at - candidate.at - 1; candidate.at > 0 && elapsed > 0 { // both are whole milliseconds
		since = since.Add(time.Duration(elapsed) * time.Millisecond)
	}
	if since.After(now) { // the server's clock was set
		since = now
	}
	y.wonLocked(candidate)
	if !ok {
		return Declined, claim, since
	}
	return Claimed, claim, since
}
