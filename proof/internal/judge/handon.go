package judge

import (
	"cmp"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// Had tells whether a client may have what a got from before an act from outside: the server granted it before, or a process that
// had it from before handed it on to a without asking.
//
// A process may do that for terms.HandOn after the act. Where the network of the client was disturbed it may do so for as long as a
// reply may take, because its own round trips say for how long. It does so no longer when one of these has happened:
//
//   - a message has told the client of the act,
//   - the client was told that it had lost what it had,
//   - a asks the server, or a is made within another hold, which asks as well.
//
// Without a hold of its client that was not over when a was called, there was nothing to hand on.
func Had(h *history.History, t *history.Thing, terms Terms, a *history.Act, act history.Span) bool {
	if GrantedSince(h, terms, a) <= act.To {
		return true
	}
	if !mayBeHandedOn(h, t, terms, a, act) {
		return false
	}
	holds := slices.DeleteFunc(t.Grants(history.Exclusive, history.Shared), func(b *history.Act) bool {
		return b.Client != a.Client || b.Back > a.Back
	})
	slices.SortStableFunc(holds, func(x, y *history.Act) int { return cmp.Compare(x.Back, y.Back) })
	var had []*history.Act
	for _, b := range holds {
		if GrantedSince(h, terms, b) <= act.To || mayBeHandedOn(h, t, terms, b, act) && slices.ContainsFunc(had, func(from *history.Act) bool {
			return b.Called <= from.Over && b.Back <= from.Told
		}) {
			if b == a {
				return true
			}
			had = append(had, b)
		}
	}
	return false
}

// mayBeHandedOn tells whether it may still have been handed on when a got it, if there was anything to hand on.
func mayBeHandedOn(h *history.History, t *history.Thing, terms Terms, a *history.Act, act history.Span) bool {
	within := terms.HandOn
	hindered := h.Hindered(a.Client, act.From, a.Back)
	if hindered {
		within = max(within, terms.Slack)
	}
	return !a.Asks && a.Within == nil && a.Back <= act.To+within && (hindered || !heard(t, a.Client, act.From, a.Back))
}

// heard tells whether a client has heard that the object was taken away, after one moment and before another.
func heard(t *history.Thing, client string, from, to history.Time) bool {
	return slices.ContainsFunc(t.Heard, func(one history.Hearing) bool {
		return one.Client == client && from <= one.At && one.At < to
	})
}

// GrantedSince is the earliest moment at which the server can have granted what an act got. Its reply takes a while, and
// as long as the whole call may last where the client's network was disturbed.
func GrantedSince(h *history.History, terms Terms, a *history.Act) history.Time {
	if h.Hindered(a.Client, a.Called, a.Back) {
		return a.Called
	}
	return max(a.Called, a.Back-terms.Slack)
}
