package fairqueue

import (
	"slices"
	"time"
)

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

// Most is how many entries a command makes.
const Most = 32
