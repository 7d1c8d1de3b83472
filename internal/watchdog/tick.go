package watchdog

import "slices"

// batchLimit bounds how many tickets travel in one send, so that no script keeps a server busy for long.
const batchLimit = 100

// A passenger is a ticket on its way into a send. It may be forgotten before it gets there.
type passenger struct {
	ticket  *Ticket
	keeping uint32
}

// tick does what is due. It runs on the timer's goroutine; two may overlap when the timer is reset while one runs, and a
// tick that finds nothing due does no harm.
func (w *Watchdog) tick() {
	w.mu.Lock()
	now := clock()
	w.armed = never
	leaving := w.collectLocked(now)
	w.armLocked(now)
	w.mu.Unlock()

	groups := make(map[Batch][]passenger)
	for _, p := range leaving {
		b := p.ticket.owner.Batch() // outside the mutex: owners call Forget with a mutex of their own held
		groups[b] = append(groups[b], p)
	}
	for b, group := range groups {
		for chunk := range slices.Chunk(group, batchLimit) {
			go w.fly(b, chunk)
		}
	}
}

// collectLocked declares lost what the clock has ended and returns what is to be sent. Along with sends that are due it
// takes those due within a quarter of their own period, and within a quarter of the longest period that is due: so ten
// thousand tickets gather in a few crowds per period, while a few with short leases do not break up the crowds of the
// long ones. No ticket leaves the deadlines for that: until it is answered it is due again when the send is to be
// doubled, and nothing depends on the send's ever being made.
func (w *Watchdog) collectLocked(now instant) (leaving []passenger) {
	take := func(t *Ticket) {
		leaving = append(leaving, passenger{t, t.keeping})
		t.due = now + t.doubleAfterLocked()
		w.placeLocked(t)
	}
	horizon := now
	for _, t := range w.kept.until(now, nil) {
		if t.trustedUntil() <= now {
			reason, cause := t.endingLocked()
			w.loseLocked(t, now, reason, cause)
			continue
		}
		horizon = max(horizon, now+instant(t.every/4))
		take(t)
	}
	if horizon == now {
		return leaving
	}
	for _, t := range w.kept.until(horizon, nil) {
		// What was taken above is due again, but not within its slack; and with others it is the end of trust that is
		// near, not a send.
		if t.due-t.slackLocked() <= now {
			take(t)
		}
	}
	return leaving
}
