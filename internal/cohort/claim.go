package cohort

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// A Claim is the right to give the first waiter what it waits for. It ends with exactly one call of Give,
// Refuse, End or Yield. Until then the waiter does not ask, though it may leave.
type Claim struct {
	queue *Queue
	w     *waiter
}

// Claim claims the first waiter. It fails while the attempt of that waiter is under way, or when that waiter
// cannot be given anything: no other waiter is given the thing before the first.
func (q *Queue) Claim() (c Claim, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.claimLocked()
	return Claim{q, w}, w != nil
}

// declines tells whether there is a first waiter that cannot be given anything: for good, or while it asks.
func (q *Queue) declines() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiters) > 0 && (q.waiters[0].request == nil || q.waiters[0].state == asking)
}

// ClaimSoon is Claim for a holder that can wait, for patience at most, until the attempt of the first waiter
// ends. The claim comes before the next attempt.
func (q *Queue) ClaimSoon(patience time.Duration) (c Claim, ok bool) {
	q.mu.Lock()
	w := q.claimLocked()
	if w != nil || !q.claimableLocked() || patience <= 0 {
		q.mu.Unlock()
		return Claim{q, w}, w != nil
	}
	came := make(chan *waiter, 1)
	q.claimers = append(q.claimers, came)
	q.mu.Unlock()
	lockorder.Waits[lockorder.Attempt](q)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case w = <-came:
	case <-timer.C:
		if !q.giveUp(came) {
			w = <-came
		}
	}
	return Claim{q, w}, w != nil
}

// giveUp ends the wait of a claimer, and reports whether it had not been answered.
func (q *Queue) giveUp(came chan *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.claimers, came)
	if i >= 0 {
		q.claimers = slices.Delete(q.claimers, i, i+1)
	}
	return i >= 0
}

// Next is the Request.Who of the first waiter, nil when there is none or it cannot be given anything.
func (q *Queue) Next() any {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiters) == 0 || q.waiters[0].request == nil {
		return nil
	}
	return q.waiters[0].request.Who
}

// Who is the Request.Who of the waiter.
func (c Claim) Who() any { return c.w.request.Who }

// Give ends the wait, and tells whether it did: the waiter may have left. The next waiter expects a hand-off
// too, with poll as its patience.
func (c Claim) Give(grant any, poll time.Duration) bool {
	q := c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.admitLocked()
	if c.w.state == leaving {
		c.w.unclaimLocked()
		return false
	}
	c.w.request.Grant = grant
	c.w.serveLocked(nil)
	q.waiters = slices.Delete(q.waiters, 0, 1)
	q.headed = false
	switch {
	case len(q.waiters) == 0:
	case q.newsLocked(): // the wake-up may be later than the grant
		q.promoteLocked()
	default:
		q.alarmLocked(poll)
	}
	return true
}

// Refuse gives the waiter nothing. The waiter asks, if it is still queued.
func (c Claim) Refuse() {
	c.queue.mu.Lock()
	c.w.unclaimLocked()
	c.queue.admitLocked()
	c.queue.mu.Unlock()
	c.queue.Wake()
}

// End ends the claim of a holder that is about to set the thing free, which wakes the queue.
func (c Claim) End() {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	c.endLocked()
}

// endLocked ends a claim without a grant. A wake-up that came meanwhile is not forgotten.
func (c Claim) endLocked() {
	c.w.unclaimLocked()
	c.queue.admitLocked()
	if c.queue.called {
		c.queue.ringLocked()
	}
}

// Yield ends the claim of a holder that is about to give the thing to other processes instead, because this
// process had it for long enough. The next attempt is told to let them ask first; without news it is made
// when it would have been.
func (c Claim) Yield() {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	c.queue.yields = true
	c.endLocked()
}

// Yields tells an attempt, once, to let other processes ask first. The attempt calls Refresh when it has done
// so.
func (q *Queue) Yields() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	yields := q.yields
	q.yields = false
	return yields
}
