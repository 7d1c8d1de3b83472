package judge

import (
	"cmp"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// loans are the readers that the server may know as a writer: each follows a writer of its client without a command, or has joined such a
// reader. That ends with a command. So readers of other clients are kept out for long only if the client could not act then.
func loans(t *history.Thing) (lent []*history.Act) {
	holds := t.Grants(history.Exclusive, history.Shared)
	slices.SortStableFunc(holds, func(x, y *history.Act) int { return cmp.Compare(x.Back, y.Back) })
	for i, a := range holds {
		if a.Mode == history.Shared && !a.Asks && slices.ContainsFunc(holds[:i], func(from *history.Act) bool {
			return from.Client == a.Client && a.Called <= ended(from) && (from.Mode == history.Exclusive || slices.Contains(lent, from))
		}) {
			lent = append(lent, a)
		}
	}
	return lent
}
