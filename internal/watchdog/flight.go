package watchdog

import (
	"context"
	"fmt"
)

// maxInFlight is how many sends may be in flight for one ticket.
const maxInFlight = 3

// A flight is one call of Send.
type flight struct {
	before  instant  // read before the call
	scripts [][]seat // fixed once boarded; emptied as they are answered
	waiting int      // seats whose tickets still care; at 0 the call is cancelled
	cancel  context.CancelFunc
}

// A seat is a ticket's place in a flight. The seats of one ticket are linked, newest first, for as long as it cares.
type seat struct {
	ticket  *Ticket
	flight  *flight
	older   *seat
	keeping uint32  // the registration it was sent for
	version uint32  // of the terms it was sent under
	upto    instant // how far the lease reaches that is asked for; of a check, the send, past which it is trusted already
}

// fly makes one send and deals with its answers as they come.
func (w *Watchdog) fly(load []cargo) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := &flight{cancel: cancel}
	due := w.board(f, load)
	if len(due) == 0 {
		return
	}
	w.send(ctx, due, func(script int, alive []bool, err error) {
		if n := len(due[script].Tickets); err == nil && len(alive) != n {
			err = fmt.Errorf("watchdog: a script of %d tickets answered for %d", n, len(alive))
		}
		w.land(f, script, alive, err)
	})
}

// board gives a seat to each passenger that is still to be sent. The clock is read here, on the goroutine that sends:
// whatever delays the send from now on makes trust too short and never too long.
func (w *Watchdog) board(f *flight, load []cargo) (due []Script) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := read()
	f.before = now
	for _, c := range load {
		seats := make([]seat, 0, len(c.passengers)) // within its capacity: seats do not move
		var tickets []*Ticket
		for _, p := range c.passengers {
			if s, ok := w.seatLocked(f, p, now); ok {
				seats = append(seats, s)
				p.ticket.newest = &seats[len(seats)-1]
				tickets = append(tickets, p.ticket)
			}
			if p.ticket.place != 0 && p.ticket.flyingLocked() == maxInFlight {
				p.ticket.due = never // until one of them is answered
				w.placeLocked(p.ticket)
			}
		}
		if len(tickets) > 0 {
			due = append(due, Script{c.batch, tickets})
			f.scripts = append(f.scripts, seats)
			f.waiting += len(seats)
		}
	}
	return due
}

// seatLocked makes a seat for p, unless it was forgotten or lost on the way or has enough sends in flight.
func (w *Watchdog) seatLocked(f *flight, p passenger, now instant) (s seat, ok bool) {
	t := p.ticket
	if t.place == 0 || t.keeping != p.keeping {
		return s, false
	}
	if t.trustedUntil() <= now {
		reason, cause := t.endingLocked()
		w.loseLocked(t, now, reason, cause)
		return s, false
	}
	if t.flyingLocked() == maxInFlight {
		return s, false
	}
	upto := min(now+instant(t.pace.lease), t.pace.end)
	return seat{ticket: t, flight: f, older: t.newest, keeping: t.keeping, version: t.version, upto: upto}, true
}

// land deals with the answer to one script of f.
func (w *Watchdog) land(f *flight, script int, alive []bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := read()
	var failed *failure
	if err != nil {
		failed = &failure{err}
	}
	seats := f.scripts[script]
	f.scripts[script] = nil // a second answer finds nothing
	for i := range seats {
		s := &seats[i]
		t := s.ticket
		switch {
		case t.place == 0 || t.keeping != s.keeping:
			// Forgotten or lost meanwhile, perhaps kept anew.
		case t.trustedUntil() <= now:
			// The clock was faster than the timer; no answer revives a ticket.
			reason, cause := t.endingLocked()
			w.loseLocked(t, now, reason, cause)
		case failed != nil:
			w.failLocked(s, now, failed)
		case alive[i]:
			w.aliveLocked(s)
		default:
			// Also when a later send found it alive: what is gone does not come back, so this one ran after it.
			w.loseLocked(t, now, NotOwned, nil)
		}
	}
	w.armLocked(now)
}

// aliveLocked moves the trust of s's ticket forward. Sends made before s have nothing more to tell.
func (w *Watchdog) aliveLocked(s *seat) {
	t := s.ticket
	if !t.riseLocked(s, true) {
		return // a later send has said more
	}
	if s.version == t.version {
		t.trustLocked(s.upto - instant(t.pace.margin))
	} // else Lease may have answered that send by the old terms or by the new, and Change said how far to trust those
	t.failures, t.cause = 0, nil
	if t.newest != nil {
		t.due = t.newest.flight.before + t.doubleAfterLocked()
	} else {
		t.due = s.flight.before + instant(t.pace.every)
	}
	w.placeLocked(t)
}

// failLocked plans the next try for s's ticket after a send that told nothing.
func (w *Watchdog) failLocked(s *seat, now instant, failed *failure) {
	t := s.ticket
	if !t.riseLocked(s, false) {
		return // a later send has succeeded
	}
	t.cause = failed
	t.failures = min(t.failures+1, maxFailures)
	retry := now + t.pauseLocked()
	if t.newest != nil {
		retry = min(retry, t.due) // others are in flight: keep the time to double them
	}
	t.due = retry
	w.placeLocked(t)
}

// riseLocked takes s, and if older is set also all seats in sends made before it, out of its ticket's seats. It reports
// whether s was still among them.
func (t *Ticket) riseLocked(s *seat, older bool) bool {
	link := &t.newest
	for *link != s {
		if *link == nil {
			return false
		}
		link = &(*link).older
	}
	*link = s.older
	s.flight.leaveLocked()
	if older {
		*link = nil
		for o := s.older; o != nil; o = o.older {
			o.flight.leaveLocked()
		}
	}
	return true
}

// flyingLocked counts the sends in flight that t still cares for.
func (t *Ticket) flyingLocked() (n int) {
	for s := t.newest; s != nil; s = s.older {
		n++
	}
	return n
}

// leaveLocked says that one ticket no longer cares for f, or has its answer, and ends the call with the last of them.
func (f *flight) leaveLocked() {
	if f.waiting--; f.waiting == 0 {
		f.cancel()
	}
}
