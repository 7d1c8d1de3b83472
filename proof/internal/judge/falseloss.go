package judge

import (
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// falseLoss: a hold is said to be lost only if it can have been: it may have run out, or an act from outside has taken it away.
func falseLoss(h *history.History, t *history.Thing, terms Terms) (findings []string, _ int) {
	for _, a := range t.Grants(history.Exclusive, history.Shared, history.Permits) {
		if a.Lost == history.Never || a.Within != nil || a.Lost >= a.Called+a.Least {
			continue // what is made within another hold may end with that one
		}
		if !slices.ContainsFunc(t.Outside, func(act history.Span) bool { return act.From <= a.Lost && Had(h, t, terms, a, act) }) {
			findings = append(findings, fmt.Sprintf("%v was said to be lost %v after its call, and nobody had taken it away", a, span(a.Lost-a.Called)))
		}
	}
	return findings, 0
}
