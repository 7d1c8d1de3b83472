package judge

import (
	"fmt"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// ids: an id that the program was told is that of one hold. By it the program may give back, later and from anywhere, what it
// has got, and must not give back what another has.
func ids(_ *history.History, t *history.Thing, _ Terms) (findings []string, _ int) {
	of := map[string]*history.Act{}
	for _, a := range t.Acts {
		for _, id := range a.IDs {
			if other := of[id]; other != nil && other != a {
				findings = append(findings, fmt.Sprintf("%v and %v have the id %s", other, a, id))
			}
			of[id] = a
		}
	}
	return findings, 0
}
