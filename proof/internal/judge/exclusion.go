package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// exclusion: while a hold is certain no other holder has a certain hold of the same object, unless both are shared.
// Holds that were taken within one another are of one holder.
func exclusion(h *history.History, t *history.Thing, terms Terms) (findings []string, excused int) {
	grants := t.Grants(history.Exclusive, history.Shared)
	slices.SortStableFunc(grants, func(a, b *history.Act) int { return cmp.Compare(a.Back, b.Back) })
	var open []*history.Act // holds that were certain when the latest one was granted
	for _, b := range grants {
		open = slices.DeleteFunc(open, func(a *history.Act) bool { return a.Certain <= b.Back })
		for _, a := range open {
			if a.Root() == b.Root() || a.Mode == history.Shared && b.Mode == history.Shared {
				continue
			}
			end := min(a.Certain, b.Certain)
			if end <= b.Back {
				continue // b was never certain for any time
			}
			if excusedUntil(h, t, terms, a, b.Back) >= end || takenAway(h, t, terms, b, end) {
				excused++
				continue
			}
			findings = append(findings, fmt.Sprintf("%v (%s) was certain until %v after %v (%s) had been granted", a, a.Mode, span(end-b.Back), b, b.Mode))
		}
		open = append(open, b)
	}
	return findings, excused
}

// takenAway tells whether an act from outside may have taken b away before b's client knew that it had it, or handed it on. Like
// every loser of such an act the client learns of it within the window.
func takenAway(h *history.History, t *history.Thing, terms Terms, b *history.Act, end history.Time) bool {
	return slices.ContainsFunc(t.Outside, func(act history.Span) bool {
		return act.From <= b.Back && end <= WindowEnd(h, terms, b.Client, act) && Had(h, t, terms, b, act)
	})
}
