package views

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
)

// mostLines is how many holders, claims or waiters are shown to people. The document has all.
const mostLines = 50

// A story is the lines in which one object is told, each under a word on the left.
type story struct {
	out   *terminal.Output
	lines []string
	word  string // of the last line
}

const margin = "              "

func (s *story) tell(word, text string, style terminal.Style) {
	first := margin
	if word != s.word {
		first = fmt.Sprintf("  %-*s", len(margin)-2, word)
		s.word = word
	}
	for _, line := range terminal.Wrap(s.out, first, margin+"  ", text) {
		if style != terminal.Plain {
			line = line[:len(margin)] + s.out.Paint(style, line[len(margin):])
		}
		s.lines = append(s.lines, line)
	}
}

func (s *story) more(word string, n int) {
	s.tell(word, fmt.Sprintf("and %d more", n), terminal.Faint)
}

// Lines tell who holds it, who waits, and what to do next.
func (v *Inspect) Lines(out *terminal.Output) []string {
	o := &v.Object
	kind := o.kind.Noun()
	if kind == "" {
		kind = "nothing of that name"
	}
	s := &story{out: out, lines: []string{out.Paint(terminal.Bold, terminal.Quote(o.Name)) + "  " + kind}}
	v.holders(s)
	for i, c := range o.Unconfirmed {
		word := "unconfirmed"
		if o.kind == redlatch.KindSemaphore {
			word = "held"
		}
		if i == mostLines {
			s.more(word, len(o.Unconfirmed)-i)
			break
		}
		text := c.who()
		if o.kind == redlatch.KindSemaphore {
			text += ", " + count(c.Holds, "permit") + " by its own word"
		} else {
			text += " says that it holds it, and Redis does not"
		}
		s.tell(word, text+aged(", since ", c.Held, c.Since), terminal.Plain)
		s.dead(word, c.Party)
	}
	for i, t := range v.Together {
		if i == mostLines {
			s.more("together", len(v.Together)-i)
			break
		}
		s.tell("together", fmt.Sprintf("the owner %s also holds the %s %s, so it may be a part of a composite",
			terminal.Clean(t.Owner), terminal.Clean(redlatch.Kind(t.Kind).Noun()), terminal.Quote(t.Name)), terminal.Plain)
	}
	v.waiters(s)
	if f := v.Forced; f != nil {
		s.tell("forced", fmt.Sprintf("by %s %s ago, from the owner %s: %s", terminal.Clean(f.Who), f.Ago.age(), terminal.Quote(f.Owner), terminal.Clean(f.Why)),
			terminal.Plain)
	}
	for _, u := range v.Unreadable {
		s.tell("unreadable", terminal.Quote(u.Key)+": "+terminal.Clean(u.Reason), terminal.Red)
	}
	if v.Stale != "" {
		s.tell("older", terminal.Clean(v.Stale), terminal.Plain)
	}
	s.tell("next", v.Next.Text, terminal.Plain)
	if v.Next.Command != "" {
		s.lines = append(s.lines, margin+v.Next.Command) // never broken: it is to be copied
	}
	return s.lines
}

func (v *Inspect) holders(s *story) {
	o := &v.Object
	if state := o.state(); state != "" {
		s.tell("held", state, terminal.Plain)
	}
	for i, h := range o.Holders {
		if i == mostLines {
			s.more("held", len(o.Holders)-i)
			break
		}
		text := "by " + h.who()
		if h.Side != "" {
			text += ", to " + h.Side
		}
		if o.kind == redlatch.KindGroupLock {
			text += ", the value " + terminal.Quote(h.Value)
		}
		s.tell("held", text+aged(", since ", h.Held, h.Since), terminal.Plain)
		terms := "no lease"
		if h.Lease.Known {
			terms = left(h.Lease) + " of the lease left"
		}
		s.tell("held", fmt.Sprintf("  owner %s, %s, %s", terminal.Quote(h.Owner), count(h.Holds, "hold"), terms), terminal.Plain)
		switch {
		case h.Silent || h.Ended || h.Kept:
			s.dead("held", h.Party)
		case h.Known:
			s.tell("held", "  last seen "+Age(h.lastSeen)+" ago, alive", terminal.Plain)
		}
	}
	if o.Token > 0 {
		s.tell("token", fmt.Sprintf("%d is the newest", o.Token), terminal.Plain)
	}
}

func (v *Inspect) waiters(s *story) {
	o := &v.Object
	for i, w := range o.Waiting {
		if i == mostLines {
			s.more("waiting", len(o.Waiting)-i)
			break
		}
		text := fmt.Sprintf("%d. %s", i+1, w.who())
		if w.Side != "" {
			text += ", to " + w.Side
		}
		if w.Calls > 0 {
			text += ", " + count(w.Calls, "call")
		}
		if w.Silent && w.Waited.Known {
			text += ", for " + w.Waited.age() + " by its last report"
		} else {
			text += aged(", since ", w.Waited, w.Since)
		}
		if w.Gone {
			text += ", passed over: it has stopped asking"
		}
		s.tell("waiting", text, terminal.Plain)
		s.dead("waiting", w.Party)
	}
	switch {
	case o.Outsiders == 1:
		s.tell("waiting", "1 connection of others, as Redisson's, listens for it", terminal.Plain)
	case o.Outsiders > 0:
		s.tell("waiting", count(o.Outsiders, "connection")+" of others, as Redisson's, listen for it", terminal.Plain)
	case o.kind == redlatch.KindSpinLock:
		s.tell("waiting", "others may wait unseen: of a spin lock they listen to nothing", terminal.Plain)
	case o.Outsiders < 0 && o.Kind != "":
		s.tell("waiting", "the server does not say how many others listen for it", terminal.Plain)
	case len(o.Waiting) == 0:
		s.tell("waiting", "nobody", terminal.Plain)
	}
}

func (s *story) dead(word string, p Party) {
	if death := p.death(); death != "" {
		s.tell(word, "  "+death, terminal.Red)
	}
}

// aged is how long something lasts and when it began.
func aged(before string, age Seconds, at Time) string {
	if !age.Known {
		return ""
	}
	return before + age.age() + " (" + time.Time(at).UTC().Format(time.RFC3339) + ")"
}
