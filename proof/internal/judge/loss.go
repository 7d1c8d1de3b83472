package judge

import (
	"fmt"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// lateLoss: a hold whose object was granted to another holder has been told of its loss by then. A client that
// was killed or suspended before that is excused, and for a window the loser of what an act from outside took away.
func lateLoss(h *history.History, t *history.Thing, terms Terms) (findings []string, excused int) {
	grants := t.Grants(history.Exclusive, history.Shared)
	for _, a := range grants {
		for _, b := range grants {
			if b.Back <= a.Back || a.Root() == b.Root() || a.Mode == history.Shared && b.Mode == history.Shared {
				continue
			}
			heard := min(a.Told, a.Leaving, h.KilledAt(a.Client))
			late := heard - b.Back
			switch {
			case late <= terms.Slack, heard == history.Never && h.End-b.Back <= terms.Slack:
			case h.Hindered(a.Client, a.Back, b.Back+terms.Slack):
			case takenAway(h, t, terms, b, b.Back): // it had lost the object itself when it learned of the grant
				excused++
			case excusedUntil(h, t, terms, a, b.Back)+terms.Slack >= min(heard, h.End):
				excused++
			case heard == history.Never:
				findings = append(findings, fmt.Sprintf("%v was never told that it had lost the object, which was granted to %v", a, b))
			default:
				findings = append(findings, fmt.Sprintf("%v was told of its loss %v after the object had been granted to %v", a, span(late), b))
			}
			break // of the grants that follow, the first says it all
		}
	}
	return findings, excused
}
