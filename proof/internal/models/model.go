package models

import (
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// A model is one kind of object.
type model struct {
	clients, acts int // what a history may have at most
	steps         func(s *scene) []*step
	step          func(before *state, s *step) (after *state, ok bool)
}

// modelOf finds the model by what was asked of the object; nil if there is none.
func modelOf(t *history.Thing) *model {
	asked := map[history.Mode]bool{}
	for _, a := range t.Acts {
		asked[a.Mode] = true
	}
	counts := asked[history.CountDown] || asked[history.Await] || asked[history.Permits] || asked[history.Add]
	switch {
	case counts && t.Lost(0, history.Never): // there is no telling what a server has that has lost something
		return nil
	case asked[history.Write]: // a guard remembers the greatest token, and is judged by judge
		return nil
	case asked[history.CountDown], asked[history.Await]:
		return &model{8, 500, (*scene).latch, latch}
	case asked[history.Permits], asked[history.Add]:
		return &model{8, 500, (*scene).holds, holding(enough)}
	case asked[history.Exclusive], asked[history.Shared]:
		return &model{16, 5000, (*scene).holds, holding(alone)}
	}
	return nil
}

// alone is the rule of locks: a holder is alone with the object, but readers may be many.
func alone(s *state, a *history.Act) bool {
	return !slices.ContainsFunc(s.held, func(held *step) bool {
		return held.act.Root() != a.Root() && (a.Mode == history.Exclusive || held.act.Mode == history.Exclusive)
	})
}

// enough is the rule of semaphores.
func enough(s *state, a *history.Act) bool {
	left := s.total
	for _, held := range s.held {
		left -= held.act.N
	}
	return left >= a.N
}

// holding is a model of what can be held as far as a rule allows.
func holding(free func(s *state, a *history.Act) bool) func(*state, *step) (*state, bool) {
	return func(before *state, s *step) (*state, bool) {
		switch s.kind {
		case take:
			switch {
			case s.doubtful && (slices.Contains(before.odd, s.id) || !free(before, s.act)):
				return before.nothing(s.id), true
			case !free(before, s.act):
				return nil, false
			}
			return before.with(s), true
		case give, drop:
			switch {
			case before.has(s.id) && s.either: // the other one of the two finds nothing any more
				return before.without(s.id).nothing(s.id), true
			case before.has(s.id):
				return before.without(s.id), true
			case s.doubtful, s.either && slices.Contains(before.odd, s.id):
				return before.nothing(s.id), true
			}
			return nil, false
		case refuse:
			return before, !free(before, s.act)
		case add:
			return before.counting(s.n), true
		}
		return nil, false
	}
}

// latch is the model of a latch: a wait ends well when nothing is left of the count, and is refused when something is.
func latch(before *state, s *step) (*state, bool) {
	switch s.kind {
	case add:
		return before.counting(-min(1, before.total)), true
	case take:
		return before, before.total == 0
	case refuse:
		return before, before.total > 0
	}
	return nil, false
}
