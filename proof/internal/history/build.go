package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Build puts records together, in whatever order they come. A record that fits nothing is an error: a journal with a
// hole must not be judged.
func Build(records []Record) (*History, error) {
	b := builder{history: &History{}, things: map[string]*Thing{}, acts: map[key]*Act{}, away: map[string]Time{}}
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(x, y Record) int { return cmp.Compare(x.At, y.At) })
	if len(records) > 0 {
		b.history.Begin, b.history.End = records[0].At, records[len(records)-1].At
	}
	for _, declare := range []bool{true, false} { // an object may be declared in another journal, at a later moment
		for _, r := range records {
			if (r.What == Object) != declare {
				continue
			}
			if err := b.add(r); err != nil {
				text, _ := json.Marshal(r) // of numbers and words
				return nil, fmt.Errorf("record %s: %w", text, err)
			}
		}
	}
	for client, from := range b.away {
		b.history.Outages = append(b.history.Outages, Outage{Client: client, From: from, To: Never})
	}
	slices.SortFunc(b.history.Outages, func(x, y Outage) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.Client, y.Client))
	})
	return b.history, nil
}

type key struct {
	client string
	op     int64
}

type builder struct {
	history *History
	things  map[string]*Thing
	acts    map[key]*Act
	away    map[string]Time // clients that are suspended, since when
}

func (b *builder) add(r Record) error {
	switch r.What {
	case Object:
		if b.things[r.Object] != nil {
			return fmt.Errorf("the object is declared twice")
		}
		t := &Thing{Name: r.Object, N: r.N, Bound: r.Bound, Fair: r.Fair, Lane: r.Lane}
		b.things[r.Object] = t
		b.history.Things = append(b.history.Things, t)
		return nil
	case Suspend:
		if _, twice := b.away[r.Client]; !twice {
			b.away[r.Client] = r.At
		}
		return nil
	case Resume:
		if from, was := b.away[r.Client]; was {
			b.history.Outages = append(b.history.Outages, Outage{Client: r.Client, From: from, To: r.At})
			delete(b.away, r.Client)
		}
		return nil
	case Kill:
		b.history.Outages = append(b.history.Outages, Outage{Client: r.Client, From: r.At, To: Never, Killed: true})
		return nil
	case Broken:
		return fmt.Errorf("the run is broken")
	case Outside, Heard, Late, Final:
		return b.mark(r)
	case Call:
		return b.call(r)
	}
	return b.tell(r)
}

// mark is for records about an object as such. An act from outside without an object concerns all of them.
func (b *builder) mark(r Record) error {
	act := Span{From: r.At, To: r.At, Loss: r.Loss}
	if r.From != 0 {
		act.From = r.From
	}
	if r.What == Outside && r.Object == "" {
		for _, t := range b.history.Things {
			t.Outside = append(t.Outside, act)
		}
		return nil
	}
	t := b.things[r.Object]
	switch {
	case t == nil:
		return fmt.Errorf("the object is not declared")
	case r.What == Outside:
		t.Outside = append(t.Outside, act)
	case r.What == Late:
		t.Late = append(t.Late, LateRequest{Client: r.Client, Sent: r.From, At: r.At})
	case r.What == Heard:
		t.Heard = append(t.Heard, Hearing{r.Client, r.At})
	default:
		n := r.N
		t.Final = &n
	}
	return nil
}

func (b *builder) call(r Record) error {
	t := b.things[r.Object]
	if t == nil {
		return fmt.Errorf("the object is not declared")
	}
	k := key{r.Client, r.Op}
	if b.acts[k] != nil {
		return fmt.Errorf("the operation was called before")
	}
	a := &Act{
		Client: r.Client, Op: r.Op, Mode: r.Mode, Try: r.Try, N: r.N, Token: r.Token, Lease: r.Lease, Most: r.Most, Least: r.Least,
		Asks: r.Asks, Called: r.At, Back: Never, Told: Never, Lost: Never, Leaving: Never, Over: Never,
	}
	if r.Within != 0 {
		if a.Within = b.acts[key{r.Client, r.Within}]; a.Within == nil {
			return fmt.Errorf("the operation that it is made within is unknown")
		}
	}
	b.acts[k] = a
	t.Acts = append(t.Acts, a)
	return nil
}

// tell is for what follows a call.
func (b *builder) tell(r Record) error {
	a := b.acts[key{r.Client, r.Op}]
	if a == nil {
		return fmt.Errorf("its call is missing")
	}
	switch r.What {
	case Got, Refused, Failed, Doubt:
		if a.Outcome != "" {
			return fmt.Errorf("the operation has returned before")
		}
		a.Outcome, a.Back, a.Certain, a.Queued = r.What, r.At, r.At, r.Queued
		if r.Token != 0 {
			a.Token = r.Token
		}
		return nil
	}
	if r.What == Stands {
		t := b.things[r.Object]
		if t == nil {
			return fmt.Errorf("the object is not declared")
		}
		t.Data = append(t.Data, a)
		return nil
	}
	if a.Outcome != Got {
		return fmt.Errorf("there is no hold")
	}
	switch r.What {
	case Valid:
		a.Certain = max(a.Certain, r.At)
	case Told:
		a.Told = min(a.Told, r.At)
		if a.Leaving == Never { // its context has said so
			a.Lost = min(a.Lost, r.At)
		}
	case Lost:
		a.Lost = min(a.Lost, r.At)
	case Named:
		a.IDs = append(a.IDs, r.Text)
	case Leave:
		a.Leaving = min(a.Leaving, r.At)
	case Left:
		a.Over = min(a.Over, r.At)
	case Unsure: // it stays unknown when it was given back
	default:
		return fmt.Errorf("what is %q", r.What)
	}
	return nil
}
