package watchdog

import (
	"container/heap"
	"time"
)

// Rest is how long the timer stays armed when nothing is kept any more.
const Rest = rest

// Armed returns when the timer fires, counted from start.
func (w *Watchdog) Armed(start time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed.time().Sub(start)
}

// AtRest reports whether nothing is kept and no timer is armed.
func (w *Watchdog) AtRest() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kept) == 0 && w.armed == never && (w.timer == nil || !w.timer.Stop())
}

// Suspend stops the timer, as for a process that is stopped, and returns what fires it late.
func (w *Watchdog) Suspend() (resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.timer.Reset(0)
	}
}

// LoseAndForget forgets t after it was found lost and before its owner could be told.
func (w *Watchdog) LoseAndForget(t *Ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loseLocked(t, read(), NotOwned, nil)
	w.forgetLocked(t)
}

// Deadlines gives black-box tests the heap.
type Deadlines struct{ d deadlines }

func (d *Deadlines) Add(t *Ticket, at time.Duration) {
	t.due = instant(at)
	t.trusted.Store(int64(never))
	heap.Push(&d.d, t)
}

func (d *Deadlines) Move(t *Ticket, at time.Duration) {
	t.due = instant(at)
	d.d.move(t)
}

func (d *Deadlines) Remove(t *Ticket) { heap.Remove(&d.d, int(t.place)-1) }

func (d *Deadlines) Until(limit time.Duration) []*Ticket {
	return d.d.until(instant(limit), nil)
}

// Consistent reports whether every ticket knows its place.
func (d *Deadlines) Consistent() bool {
	for i, e := range d.d {
		if int(e.ticket.place) != i+1 {
			return false
		}
	}
	return true
}
