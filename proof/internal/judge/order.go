package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// tokens: a grant that was asked for after another one had returned has the greater token, and no two have the same one,
// re-entries included. A server that loses what it has acknowledged may lose the newest tokens, so a token from before such a
// loss is not compared with one from after it. A process from which a lock was taken away may hand it on with a token from before.
func tokens(h *history.History, t *history.Thing, terms Terms) (findings []string, excused int) {
	var grants []*history.Act
	for _, a := range t.Grants(history.Exclusive) {
		if a.Token != 0 {
			grants = append(grants, a)
		}
	}
	for _, pair := range inversions(grants, func(earlier, later int64) bool { return earlier >= later }) {
		if t.Lost(pair[0].Called, pair[1].Back) || handedOnAfter(h, t, terms, pair[0], pair[1]) {
			excused++
			continue
		}
		findings = append(findings, fmt.Sprintf("%v was granted before %v was called, and has token %d where the later one has %d",
			pair[0], pair[1], pair[0].Token, pair[1].Token))
	}
	seen := map[int64]*history.Act{}
	for _, a := range grants {
		if b := seen[a.Token]; b != nil && !(b.Back <= a.Called || a.Back <= b.Called) && !t.Lost(min(a.Called, b.Called), max(a.Back, b.Back)) {
			findings = append(findings, fmt.Sprintf("%v and %v have the same token %d", b, a, a.Token))
		}
		seen[a.Token] = a
	}
	return findings, excused
}

// handedOnAfter tells whether the later hold may be one that was handed on after it had been taken away, before the earlier one was granted.
func handedOnAfter(h *history.History, t *history.Thing, terms Terms, earlier, later *history.Act) bool {
	return slices.ContainsFunc(t.Outside, func(act history.Span) bool {
		return act.From <= earlier.Back && Had(h, t, terms, later, act)
	})
}

// inversions are pairs of acts of which the first had returned before the second was called, and whose tokens are wrong.
// Each act is in one pair at most, as the second one.
func inversions(acts []*history.Act, wrong func(earlier, later int64) bool) (pairs [][2]*history.Act) {
	byReturn := slices.Clone(acts)
	slices.SortStableFunc(byReturn, func(a, b *history.Act) int { return cmp.Compare(a.Back, b.Back) })
	byCall := slices.Clone(acts)
	slices.SortStableFunc(byCall, func(a, b *history.Act) int { return cmp.Compare(a.Called, b.Called) })
	var greatest *history.Act // of those that had returned
	for _, later := range byCall {
		for len(byReturn) > 0 && byReturn[0].Back <= later.Called {
			if greatest == nil || byReturn[0].Token > greatest.Token {
				greatest = byReturn[0]
			}
			byReturn = byReturn[1:]
		}
		if greatest != nil && greatest != later && wrong(greatest.Token, later.Token) {
			pairs = append(pairs, [2]*history.Act{greatest, later})
		}
	}
	return pairs
}

// order: a fair object is granted first to the waiter that was seen in the queue before the other one called. A waiter
// whose process could not act meanwhile may have lost its place.
func order(h *history.History, t *history.Thing, terms Terms) (findings []string, _ int) {
	if !t.Fair {
		return nil, 0
	}
	grants := t.Grants(history.Exclusive)
	for _, first := range grants {
		if first.Queued == 0 || first.Within != nil || h.Hindered(first.Client, first.Called, first.Back) {
			continue
		}
		for _, second := range grants {
			// The returns of two calls say nothing about which grant was first unless the hold of the one had ended before.
			if second.Within == nil && first.Queued < second.Called && second.Back < first.Back && ended(second) <= first.Back &&
				!outsideBetween(t, first.Called, first.Back+terms.Slack) {
				findings = append(findings, fmt.Sprintf("%v was in the queue %v before %v called, and was granted after it",
					first, span(second.Called-first.Queued), second))
				break
			}
		}
	}
	return findings, 0
}

// ended is when a hold was over at the latest, as far as its own client knows.
func ended(a *history.Act) history.Time { return min(a.Over, a.Told) }

func outsideBetween(t *history.Thing, from, to history.Time) bool {
	return slices.ContainsFunc(t.Outside, func(act history.Span) bool { return from <= act.To && act.From <= to })
}
