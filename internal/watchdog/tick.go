package watchdog

import "slices"

// Bounds of what travels together. One script must not keep a server busy for long, and one pipeline not hold
// up its first answer for long.
const (
	maxTickets = 100 // in a script
	maxScripts = 256 // in a call of Send
)

// A member is a ticket on its way into a send. It may be forgotten before it gets there.
type member struct {
	ticket  *Ticket
	keeping uint32
}

// tick does what is due. It runs on the timer's goroutine; two may overlap when the timer is reset while one
// runs, and a tick that finds nothing due does no harm.
func (w *Watchdog) tick() {
	w.mu.Lock()
	now := read()
	w.armed = never
	leaving := w.collectLocked(now)
	w.armLocked(now)
	w.mu.Unlock()

	for _, load := range loads(leaving) {
		go w.call(load)
	}
}

// A group is the members that leave in one script.
type group struct {
	batch   Batch
	members []member
}

// loads sorts what leaves into calls of Send. It asks the owners outside the mutex: they call Forget with a
// mutex of their own held.
func loads(leaving []member) (calls [][]group) {
	batches := make(map[Batch][]member)
	for _, p := range leaving {
		b := p.ticket.owner.Batch()
		batches[b] = append(batches[b], p)
	}
	servers := make(map[any][]group)
	for b, all := range batches {
		for chunk := range slices.Chunk(all, maxTickets) {
			servers[b.Server] = append(servers[b.Server], group{b, chunk})
		}
	}
	for _, load := range servers {
		calls = slices.AppendSeq(calls, slices.Chunk(load, maxScripts))
	}
	return calls
}

// collectLocked declares lost what the clock has ended and returns what is to be sent. Along with sends that
// are due it takes those due within a quarter of their own period, and within a quarter of the longest period
// that is due: so ten thousand tickets gather in a few crowds per period, while a few with short leases do
// not break up the crowds of the long ones. No ticket leaves the deadlines for that: until it is answered it
// is due again when the send is to be doubled, and nothing depends on the send's ever being made.
func (w *Watchdog) collectLocked(now instant) (leaving []member) {
	horizon := now
	for _, t := range w.kept.until(now, nil) {
		if t.trustedUntil() <= now {
			w.endLocked(t, now)
			continue
		}
		horizon = max(horizon, now+instant(t.schedule.every/4))
	}
	for _, t := range w.kept.until(horizon, nil) {
		// With the others it is the end of trust that is near, or a send that is not to be made early.
		if t.due-t.slackLocked() <= now {
			leaving = append(leaving, member{t, t.keeping})
			t.due = now + t.doubleAfterLocked()
			w.kept.move(t)
		}
	}
	return leaving
}
