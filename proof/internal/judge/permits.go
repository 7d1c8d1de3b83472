package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// permits: at no moment are more permits certain than there can be for the one that was granted last. What was added
// counts from its call on. Permits that are in use when their number is lowered stay in use, so what was taken away counts for
// requests that were made after it had returned. They are given some slack, because a process that hands permits on among its
// goroutines notices a removal when it asks Redis next.
func permits(_ *history.History, t *history.Thing, terms Terms) (findings []string, _ int) {
	type step struct {
		at history.Time
		n  int64 // how many more are in use from then on
		by *history.Act
	}
	var steps []step
	for _, a := range t.Grants(history.Permits) {
		if a.Certain > a.Back {
			steps = append(steps, step{a.Back, a.N, a}, step{a.Certain, -a.N, a})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { // at one moment, what is given back is first
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n))
	})
	used := int64(0)
	for _, s := range steps {
		used += s.n
		if have := permitsFor(t, s.by, terms); s.n > 0 && used > have {
			findings = append(findings, fmt.Sprintf("%d permits are in use and there are %d, after %v was granted", used, have, s.by))
		}
	}
	return findings, 0
}

// permitsFor is how many permits there can be when a is granted.
func permitsFor(t *history.Thing, a *history.Act, terms Terms) int64 {
	n := t.N
	for _, change := range t.Acts {
		switch {
		case change.Mode != history.Add:
		case change.N > 0 && change.Called <= a.Back && change.Outcome != history.Refused && change.Outcome != history.Failed:
			n += change.N
		case change.N < 0 && change.Back+terms.Slack <= a.Called && change.Outcome == history.Got:
			n += change.N
		}
	}
	return n
}
