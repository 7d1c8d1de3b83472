package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
)

// A Verdict is what the model says of one object.
type Verdict string

// The verdicts.
const (
	Explained Verdict = "explained" // there is an order
	Convicted Verdict = "convicted" // there is none
	Undecided Verdict = "undecided" // none was found within the budget, which is a failure of its own
	Long      Verdict = "long"      // the history is too long for a model
	Unmodeled Verdict = "unmodeled" // there is no model of such an object, or nothing was done with it
)

// An Answer is the verdict on one object.
type Answer struct {
	Object  string
	Verdict Verdict
	Steps   int
	Text    string // of a conviction: the answer that no order explains
}

func (a Answer) String() string {
	return fmt.Sprintf("%s: %s after %d steps: %s", a.Object, a.Verdict, a.Steps, a.Text)
}

// Budget is how many steps of a model are tried for one object. It stands for a time-out, and has the same history end
// in the same verdict on every machine.
const Budget = 3_000_000

// Check judges all objects of a history.
func Check(h *history.History, terms judge.Terms, budget int) (answers []Answer) {
	for _, t := range h.Things {
		answers = append(answers, check(h, t, terms, budget))
	}
	return answers
}

func check(h *history.History, t *history.Thing, terms judge.Terms, budget int) Answer {
	a := Answer{Object: t.Name, Verdict: Unmodeled}
	m := modelOf(t)
	if m == nil {
		return a
	}
	a.Verdict = Long
	if clients(t) > m.clients || len(t.Acts) > m.acts {
		return a
	}
	steps := m.steps(&scene{h, t, terms})
	a.Steps = len(steps)
	var operations []porcupine.Operation
	for i, s := range steps {
		operations = append(operations, porcupine.Operation{ClientId: i, Input: s, Call: int64(s.from), Return: int64(s.to)})
	}
	tried := 0
	model := porcupine.Model{
		Init: func() any { return &state{total: t.N} },
		Step: func(before, input, _ any) (bool, any) {
			if tried++; tried > budget { // nothing is possible any more, so the search ends
				return false, nil
			}
			after, ok := m.step(before.(*state), input.(*step))
			return ok, after
		},
		Equal: func(x, y any) bool { return x.(*state).equal(y.(*state)) },
		Hash:  func(s any) uint64 { return s.(*state).hash() },
	}
	switch {
	case porcupine.CheckOperations(model, operations):
		a.Verdict = Explained
	case tried > budget:
		a.Verdict, a.Text = Undecided, fmt.Sprintf("no order was found in %d tries", budget)
	default:
		tried = math.MinInt
		a.Verdict, a.Text = Convicted, unexplained(model, operations)
	}
	return a
}

// unexplained names the step that the longest order has no place for.
func unexplained(model porcupine.Model, operations []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(model, operations, 0)
	orders := info.PartialLinearizations()[0]
	longest := slices.MaxFunc(append(orders, nil), func(x, y []int) int { // of equal ones any, but always the same
		return cmp.Or(cmp.Compare(len(x), len(y)), slices.Compare(y, x))
	})
	placed, end := map[int]bool{}, model.Init()
	for _, id := range longest {
		placed[id] = true
		_, end = model.Step(end, operations[id].Input, nil)
	}
	var missing *step
	for id, o := range operations {
		if s := o.Input.(*step); !placed[id] && (missing == nil || s.to < missing.to) {
			missing = s
		}
	}
	text := fmt.Sprintf("no order of the steps explains that %v; %d of %d have a place before", missing, len(longest), len(operations))
	if held := end.(*state).held; len(held) > 0 {
		var acts []*history.Act
		for _, s := range held {
			acts = append(acts, s.act)
		}
		text += fmt.Sprintf(", and the object is with %v", acts)
	}
	return text
}

func clients(t *history.Thing) int {
	names := map[string]bool{}
	for _, a := range t.Acts {
		names[a.Client] = true
	}
	return len(names)
}
