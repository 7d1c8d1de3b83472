package watchdog

import (
	"context"
	"fmt"
)

// maxInFlight is how many sends may be in flight for one ticket.
const maxInFlight = 3

// A call is one call of Send.
type call struct {
	before  instant  // read before the call
	scripts [][]item // fixed once filled; emptied as they are answered
	waiting int      // items whose tickets still wait for an answer; at 0 the call is cancelled
	cancel  context.CancelFunc
}

// An item is a ticket's part in a call. The items of one ticket are linked, newest first, for as long as it
// cares.
type item struct {
	ticket  *Ticket
	call    *call
	older   *item
	keeping uint32  // the registration it was sent for
	version uint32  // of the terms it was sent under
	upto    instant // how far the lease reaches that is asked for; of a check, the send, past which it is trusted already
}

// call makes one send and deals with its answers as they come.
func (w *Watchdog) call(load []group) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &call{cancel: cancel}
	due := w.fill(c, load)
	if len(due) == 0 {
		return
	}
	w.send(ctx, due, func(script int, alive []bool, err error) {
		if n := len(due[script].Tickets); err == nil && len(alive) != n {
			err = fmt.Errorf("watchdog: a script of %d tickets answered for %d", n, len(alive))
		}
		w.answered(c, script, alive, err)
	})
}

// fill gives an item to each member that is still to be sent. The clock is read here, on the goroutine that
// sends: whatever delays the send from now on makes trust too short and never too long.
func (w *Watchdog) fill(c *call, load []group) (due []Script) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := read()
	c.before = now
	for _, g := range load {
		items := make([]item, 0, len(g.members)) // within its capacity: items do not move
		var tickets []*Ticket
		for _, p := range g.members {
			if s, ok := w.itemLocked(c, p, now); ok {
				items = append(items, s)
				p.ticket.newest = &items[len(items)-1]
				tickets = append(tickets, p.ticket)
			}
			if p.ticket.place != 0 && p.ticket.inFlightLocked() == maxInFlight {
				p.ticket.due = never // until one of them is answered
				w.kept.move(p.ticket)
			}
		}
		if len(tickets) > 0 {
			due = append(due, Script{g.batch, tickets})
			c.scripts = append(c.scripts, items)
			c.waiting += len(items)
		}
	}
	return due
}

// itemLocked makes an item for p, unless it was forgotten or lost on the way or has enough sends in flight.
func (w *Watchdog) itemLocked(c *call, p member, now instant) (s item, ok bool) {
	t := p.ticket
	if t.place == 0 || t.keeping != p.keeping {
		return s, false
	}
	if t.trustedUntil() <= now {
		w.endLocked(t, now)
		return s, false
	}
	if t.inFlightLocked() == maxInFlight {
		return s, false
	}
	upto := min(now+instant(t.schedule.lease), t.schedule.end)
	return item{ticket: t, call: c, older: t.newest, keeping: t.keeping, version: t.version, upto: upto}, true
}

// answered deals with the answer to one script of c.
func (w *Watchdog) answered(c *call, script int, alive []bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := read()
	var failed *failure
	if err != nil {
		failed = &failure{err}
	}
	items := c.scripts[script]
	c.scripts[script] = nil // a second answer finds nothing
	for i := range items {
		s := &items[i]
		t := s.ticket
		switch {
		case t.place == 0 || t.keeping != s.keeping:
			// Forgotten or lost meanwhile, perhaps kept anew.
		case t.trustedUntil() <= now:
			// The clock was faster than the timer; no answer revives a ticket.
			w.endLocked(t, now)
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
func (w *Watchdog) aliveLocked(s *item) {
	t := s.ticket
	if !t.removeLocked(s, true) {
		return // a later send has said more
	}
	if s.version == t.version {
		t.trustLocked(s.upto - instant(t.schedule.margin))
	} // else Lease may have answered that send by the old terms or by the new, and Change said how far to trust those
	t.failures, t.cause = 0, nil
	if t.newest != nil {
		t.due = t.newest.call.before + t.doubleAfterLocked()
	} else {
		t.due = s.call.before + instant(t.schedule.every)
	}
	w.kept.move(t)
}

// failLocked plans the next try for s's ticket after a send that told nothing.
func (w *Watchdog) failLocked(s *item, now instant, failed *failure) {
	t := s.ticket
	if !t.removeLocked(s, false) {
		return // a later send has succeeded
	}
	t.cause = failed
	t.failures = min(t.failures+1, maxFailures)
	retry := now + t.pauseLocked()
	if t.newest != nil {
		retry = min(retry, t.due) // others are in flight: keep the time to double them
	}
	t.due = retry
	w.kept.move(t)
}

// removeLocked takes s, and if older is set also all items in sends made before it, out of its ticket's
// items. It reports whether s was still among them.
func (t *Ticket) removeLocked(s *item, older bool) bool {
	link := &t.newest
	for *link != s {
		if *link == nil {
			return false
		}
		link = &(*link).older
	}
	*link = s.older
	s.call.leaveLocked()
	if older {
		*link = nil
		for o := s.older; o != nil; o = o.older {
			o.call.leaveLocked()
		}
	}
	return true
}

// inFlightLocked counts the sends in flight that t still cares for.
func (t *Ticket) inFlightLocked() (n int) {
	for s := t.newest; s != nil; s = s.older {
		n++
	}
	return n
}

// leaveLocked says that one ticket no longer cares for c, or has its answer, and ends the call with the last
// of them.
func (c *call) leaveLocked() {
	if c.waiting--; c.waiting == 0 {
		c.cancel()
	}
}
