package watchdog

import "container/heap"

// deadlines is a heap of the kept tickets, ordered by the next moment at which something must be done for
// them. Each ticket knows its place, so that it is removed and moved without a search. The moments stand in
// the entries, so that comparing does not touch the tickets.
type deadlines []deadline

type deadline struct {
	at     instant
	ticket *Ticket
}

// move puts a ticket to where its due time and its trust belong. The timer is not touched.
func (d *deadlines) move(t *Ticket) {
	i := int(t.place) - 1
	if at := t.nextLocked(); at != (*d)[i].at {
		(*d)[i].at = at
		heap.Fix(d, i)
	}
}

// until appends to list the tickets with a moment up to limit, in no particular order. It costs what it
// finds: below an entry that is later than limit nothing is earlier.
func (d deadlines) until(limit instant, list []*Ticket) []*Ticket {
	return d.untilBelow(0, limit, list)
}

func (d deadlines) untilBelow(i int, limit instant, list []*Ticket) []*Ticket {
	if i >= len(d) || d[i].at > limit {
		return list
	}
	list = append(list, d[i].ticket)
	list = d.untilBelow(2*i+1, limit, list)
	return d.untilBelow(2*i+2, limit, list)
}

// The rest is what container/heap asks for.

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].at < d[j].at }

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].ticket.place, d[j].ticket.place = int32(i+1), int32(j+1)
}

// Push takes a *Ticket, and Pop returns one.
func (d *deadlines) Push(ticket any) {
	t := ticket.(*Ticket)
	*d = append(*d, deadline{t.nextLocked(), t})
	t.place = int32(len(*d))
}

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	t := (*d)[last].ticket
	t.place = 0
	(*d)[last] = deadline{}
	*d = (*d)[:last]
	if last == 0 && cap(*d) > 1024 {
		*d = nil // a crowd has left
	}
	return t
}
