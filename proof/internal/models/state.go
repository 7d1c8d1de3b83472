package models

import (
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// A step is something that takes place at one moment between two others.
type step struct {
	kind     kind
	act      *history.Act
	id       int // of the act
	from, to history.Time
	n        int64 // of an add: by how much
	doubtful bool  // its act may never have happened
	either   bool  // the hold may be given back or end by itself, and this is one of the two
}

type kind string

const (
	take   kind = "is granted"
	give   kind = "is given back"
	drop   kind = "ends by itself"
	refuse kind = "is refused"
	add    kind = "changes the number"
)

func (s *step) String() string { return fmt.Sprintf("%v (%s) %s", s.act, s.act.Mode, s.kind) }

// A state is what an object is between two steps. It is never changed.
type state struct {
	held  []*step // the takes that are in force, in the order of their ids
	odd   []int   // acts of which one of two steps that belong together has come to nothing so far, or is to
	total int64   // permits in all, or what is left of a count
}

func (s *state) equal(o *state) bool {
	return s.total == o.total && slices.Equal(s.odd, o.odd) && slices.EqualFunc(s.held, o.held, func(x, y *step) bool { return x.id == y.id })
}

func (s *state) hash() uint64 {
	h := uint64(14695981039346656037)
	mix := func(n uint64) { h = (h ^ n) * 1099511628211 }
	mix(uint64(s.total))
	for _, one := range s.held {
		mix(uint64(one.id))
	}
	mix(1 << 40)
	for _, id := range s.odd {
		mix(uint64(id))
	}
	return h
}

func byID(s *step, id int) int { return s.id - id }

func (s *state) has(id int) bool {
	_, found := slices.BinarySearchFunc(s.held, id, byID)
	return found
}

func (s *state) with(t *step) *state {
	at, _ := slices.BinarySearchFunc(s.held, t.id, byID)
	return &state{slices.Insert(slices.Clone(s.held), at, t), s.odd, s.total}
}

func (s *state) without(id int) *state {
	at, _ := slices.BinarySearchFunc(s.held, id, byID)
	return &state{slices.Delete(slices.Clone(s.held), at, at+1), s.odd, s.total}
}

// nothing is the state with an act noted of which one step comes to nothing, or without it if it was noted. So of two
// steps that belong together nothing is left, in whichever order they come.
func (s *state) nothing(id int) *state {
	odd := slices.Clone(s.odd)
	if at, found := slices.BinarySearch(odd, id); found {
		odd = slices.Delete(odd, at, at+1)
	} else {
		odd = slices.Insert(odd, at, id)
	}
	return &state{s.held, odd, s.total}
}

func (s *state) counting(n int64) *state { return &state{s.held, s.odd, s.total + n} }
