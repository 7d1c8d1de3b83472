package judge

import (
	"fmt"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// overdue: a hold that was taken for a time is certain no longer than that, whatever else its process holds.
func overdue(_ *history.History, t *history.Thing, _ Terms) (findings []string, _ int) {
	for _, a := range t.Grants(history.Exclusive, history.Shared, history.Permits) {
		if late := a.Certain - a.Back - a.Most; a.Most > 0 && late > 0 {
			findings = append(findings, fmt.Sprintf("%v was taken for %v and was certain for %v longer", a, span(a.Most), span(late)))
		}
	}
	return findings, 0
}
