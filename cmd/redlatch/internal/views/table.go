package views

import (
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

// someHolders is how many holders of one object a table shows.
const someHolders = 3

// Table shows each object in a line for each of its first holders.
func Table(objects []Object, out *terminal.Output) []string {
	t := &terminal.Table{Columns: []terminal.Column{
		{Heading: "NAME", Shrinks: terminal.InTheMiddle}, {Heading: "KIND", Shrinks: terminal.InLines},
		{Heading: "HELD BY", Shrinks: terminal.InLines}, {Heading: "SINCE", Shrinks: terminal.InLines},
		{Heading: "LEASE LEFT", Shrinks: terminal.InLines}, {Heading: "WAITING", Shrinks: terminal.InLines},
	}}
	for i := range objects {
		o := &objects[i]
		first := []terminal.Cell{{Text: terminal.Quote(o.Name), Style: terminal.Bold}, {Text: o.kind.Noun()}, {}, {}, {}, {Text: o.waiting(), Style: terminal.Yellow}}
		rows := o.rows()
		for n, row := range rows {
			if n == 0 {
				copy(first[2:5], row)
				t.Row(first...)
				continue
			}
			t.Row(append([]terminal.Cell{{}, {}}, row...)...)
		}
	}
	return t.Lines(out)
}

// rows are the columns of the holders, one row at least.
func (o *Object) rows() (rows [][]terminal.Cell) {
	row := func(style terminal.Style, texts ...string) {
		var r []terminal.Cell
		for _, text := range texts {
			r = append(r, terminal.Cell{Text: text, Style: style})
		}
		rows = append(rows, r)
	}
	if state := o.state(); state != "" {
		ttl := ""
		if o.Exists && o.Lease.Known {
			ttl = left(o.Lease)
		}
		row(terminal.Plain, state, "", ttl)
	}
	if len(o.Unreadable) > 0 {
		row(terminal.Red, terminal.Clean(o.Unreadable[0].Reason))
	}
	for i, h := range o.Holders {
		if i == someHolders {
			row(terminal.Faint, fmt.Sprintf("and %d more", len(o.Holders)-i))
			break
		}
		side := ""
		if h.Side != "" {
			side = h.Side + ": "
		}
		if o.kind == redlatch.KindGroupLock {
			side = terminal.Quote(h.Value) + ": "
		}
		row(terminal.Plain, side+h.who(), h.Held.age(), left(h.Lease))
		if death := h.death(); death != "" {
			row(terminal.Red, death)
		}
	}
	if len(o.Holders) > 0 {
		return rows
	}
	for i, c := range o.Unconfirmed {
		if i == someHolders {
			row(terminal.Faint, fmt.Sprintf("and %d more", len(o.Unconfirmed)-i))
			break
		}
		row(terminal.Plain, o.claim(c), c.Held.age())
		if death := c.death(); death != "" {
			row(terminal.Red, death)
		}
	}
	return rows
}

// claim is who says to hold. Of a semaphore nobody else keeps who that is.
func (o *Object) claim(c Claim) string {
	if o.kind == redlatch.KindSemaphore {
		return fmt.Sprintf("%s (%d)", c.who(), c.Holds)
	}
	return c.who() + " says so, Redis does not"
}
