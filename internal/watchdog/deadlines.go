package watchdog

// deadlines is a binary heap of the kept tickets, ordered by the next moment at which something must be done for them.
// Each ticket knows its place, so that it is removed and moved without a search. The moments stand in the entries, so
// that comparing does not touch the tickets.
type deadlines []deadline

type deadline struct {
	at     instant
	ticket *Ticket
}

func (d *deadlines) add(t *Ticket, at instant) {
	*d = append(*d, deadline{})
	d.up(len(*d)-1, deadline{at, t})
}

func (d deadlines) move(t *Ticket, at instant) {
	i := int(t.place) - 1
	if at < d[i].at {
		d.up(i, deadline{at, t})
	} else if at > d[i].at {
		d.down(i, deadline{at, t})
	}
}

func (d *deadlines) remove(t *Ticket) {
	i, last := int(t.place)-1, len(*d)-1
	gone, moved := (*d)[i], (*d)[last]
	t.place = 0
	(*d)[last] = deadline{}
	*d = (*d)[:last]
	switch {
	case last == 0 && cap(*d) > 1024:
		*d = nil // a crowd has left
	case i == last:
	case moved.at < gone.at:
		d.up(i, moved)
	default:
		d.down(i, moved)
	}
}

// until appends to list the tickets with a moment up to limit, in no particular order. It costs what it finds: below an
// entry that is later than limit nothing is earlier.
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

// up puts e into the hole at i or above it.
func (d deadlines) up(i int, e deadline) {
	for i > 0 {
		parent := (i - 1) / 2
		if d[parent].at <= e.at {
			break
		}
		d.put(i, d[parent])
		i = parent
	}
	d.put(i, e)
}

// down puts e into the hole at i or below it.
func (d deadlines) down(i int, e deadline) {
	for {
		child := 2*i + 1
		if child >= len(d) {
			break
		}
		if right := child + 1; right < len(d) && d[right].at < d[child].at {
			child = right
		}
		if e.at <= d[child].at {
			break
		}
		d.put(i, d[child])
		i = child
	}
	d.put(i, e)
}

func (d deadlines) put(i int, e deadline) {
	d[i] = e
	e.ticket.place = int32(i + 1)
}
