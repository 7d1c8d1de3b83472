package views

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
)

// TopSchema is the form of Top.
const TopSchema = "redlatch.top/1"

// Top is what is waited for most.
type Top struct {
	Schema     string       `json:"schema"`
	Server     string       `json:"server"`
	Time       Time         `json:"time"` // by the server's clock
	Contention float64      `json:"contention"`
	Held       int64        `json:"held"`    // objects
	Waiting    int64        `json:"waiting"` // processes, one for each object that it waits for
	Clients    int64        `json:"clients"`
	Silent     int64        `json:"silent"`  // clients that are probably dead
	Objects    []Contended  `json:"objects"` // the most contended first
	Skipped    int64        `json:"skipped"` // keys that were not looked at
	Missing    string       `json:"missing"`
	Unreadable []Unreadable `json:"unreadable"`
	Stale      string       `json:"stale,omitempty"` // the error that kept top from having clients report every second

	ls *Ls
}

// Contended is an object with how much it is waited for.
type Contended struct {
	Contention float64 `json:"contention"` // for how many seconds calls wait in a second
	Calls      int64   `json:"calls"`      // that wait now, at least
	Oldest     Seconds `json:"oldest_wait_seconds"`
	Object     Object  `json:"object"`
}

// A Watch takes frames, one after the other, of which each knows the one before.
type Watch struct {
	Client  redis.UniversalClient
	Server  string
	Options []fleet.Option
	Hurry   *Hurry

	reports map[string]*report // by client
	ended   map[string]float64 // the part of the contention that comes from waits that have ended, by key
}

// Frame looks at all of it.
func (w *Watch) Frame(ctx context.Context) (*Top, error) {
	stale := w.Hurry.call(ctx)
	r, err := fleet.List(ctx, w.Client, w.Options...)
	if err != nil {
		return nil, err
	}
	top := w.frame(r)
	top.Stale = stale
	return top, nil
}

func (w *Watch) frame(r *fleet.Report) *Top {
	w.observe(r.Clients)
	ls := newLs(r, w.Server)
	top := &Top{
		Schema: TopSchema, Server: w.Server, Time: ls.Time, Clients: int64(len(r.Clients)), Objects: []Contended{},
		Skipped: ls.Skipped, Missing: ls.Missing, Unreadable: ls.Unreadable, ls: ls,
	}
	for _, c := range r.Clients {
		if c.Silent() {
			top.Silent++
		}
	}
	for i, o := range ls.Objects {
		c := Contended{Contention: w.contention(r.Objects[i]), Calls: calls(r.Objects[i]), Oldest: o.oldest(), Object: o}
		top.Contention += c.Contention
		if len(o.Holders) > 0 {
			top.Held++
		}
		top.Waiting += o.waits()
		top.Objects = append(top.Objects, c)
	}
	top.Contention = round(top.Contention)
	slices.SortStableFunc(top.Objects, func(a, b Contended) int {
		return cmp.Or(cmp.Compare(b.Contention, a.Contention), cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Oldest.Duration, a.Oldest.Duration),
			cmp.Compare(min(len(b.Object.Holders), 1), min(len(a.Object.Holders), 1)))
	})
	return top
}

// Lines are a frame, the totals first.
func (t *Top) Lines(out *terminal.Output) []string {
	lines := []string{
		out.Paint(terminal.Bold, "redlatch top") + fmt.Sprintf("  %s  %s", terminal.Clean(t.Server), time.Time(t.Time).UTC().Format(time.RFC3339)),
		fmt.Sprintf("contention %.2f  held %d  waiting %d  clients %d, %d silent", t.Contention, t.Held, t.Waiting, t.Clients, t.Silent),
	}
	if t.Stale != "" {
		lines = append(lines, terminal.Wrap(out, "", "", terminal.Clean(t.Stale))...)
	}
	lines = append(lines, "")
	table := &terminal.Table{Columns: []terminal.Column{
		{Heading: "CONTENTION", Right: true, Shrinks: terminal.InLines}, {Heading: "WAITING", Shrinks: terminal.InLines},
		{Heading: "NAME", Shrinks: terminal.InTheMiddle}, {Heading: "KIND", Shrinks: terminal.InLines},
		{Heading: "HELD BY", Shrinks: terminal.InLines}, {Heading: "SINCE", Shrinks: terminal.InLines},
		{Heading: "LEASE LEFT", Shrinks: terminal.InLines},
	}}
	for i := range t.Objects {
		c := &t.Objects[i]
		row := []terminal.Cell{
			{Text: fmt.Sprintf("%.2f", c.Contention)}, {Text: c.Object.waiting(), Style: terminal.Yellow},
			{Text: terminal.Quote(c.Object.Name), Style: terminal.Bold}, {Text: c.Object.kind.Noun()},
		}
		table.Row(append(row, c.Object.holder()...)...)
	}
	if len(t.Objects) == 0 {
		lines = append(lines, "Nothing is held and nobody waits.")
	} else {
		lines = append(lines, table.Lines(out)...)
	}
	return append(lines, t.ls.footer(out)...)
}

// holder is who holds it, in one row: the first one, and how many more.
func (o *Object) holder() []terminal.Cell {
	rows := o.rows()
	row := rows[0]
	if len(o.Holders) == 0 {
		return row
	}
	h := o.Holders[0]
	text := h.who()
	if n := len(o.Holders) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	style := terminal.Plain
	if h.Ended || h.Kept {
		text = "kept: " + text
	} else if h.Silent {
		text, style = "dead? "+text, terminal.Red
	}
	return []terminal.Cell{{Text: text, Style: style}, {Text: h.Held.age()}, {Text: left(h.Lease)}}
}
