package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// stall: while a waiter that can act waits for an object, the object is not free for longer than its bound. It counts as free
// when no act can have it: none that was granted and is not given back, none whose outcome is unknown, and no hold of a killed
// client whose lease is not over, or which a late request of that client has brought.
func stall(h *history.History, t *history.Thing, terms Terms) (findings []string, _ int) {
	if t.Bound == 0 {
		return nil, 0
	}
	occupied := occupations(h, t, terms)
	for _, w := range t.Acts {
		if w.Try || w.Within != nil || w.Outcome == "" && h.KilledAt(w.Client) != history.Never {
			continue
		}
		until := min(w.Back, h.End)
		if h.Hindered(w.Client, w.Called, until) {
			continue
		}
		if from, free := longestGap(occupied(w), w.Called, until); free > t.Bound+terms.Slack {
			findings = append(findings, fmt.Sprintf("%v waited %v for the object while it was free, from %v after its call on", w, span(free), span(from-w.Called)))
		}
	}
	return findings, 0
}

// A stretch is a time in which a waiter could not be served.
type stretch struct{ from, to history.Time }

// occupations answers for a waiter when the object may have been taken.
func occupations(h *history.History, t *history.Thing, terms Terms) func(w *history.Act) []stretch {
	var locked, shared []stretch
	type use struct {
		stretch
		n int64
	}
	var uses []use
	total := t.N
	note := func(a *history.Act, held stretch) {
		switch {
		case a.Mode == history.Exclusive:
			locked = append(locked, held)
		case a.Mode == history.Shared:
			shared = append(shared, held)
		case a.Mode == history.Permits:
			uses = append(uses, use{held, a.N})
		}
	}
	for _, a := range t.Acts {
		held, some := possible(h, t, a, terms)
		if some {
			note(a, held)
		}
		for _, r := range t.Late {
			if mayBring(h, terms, r, a) {
				note(a, stretch{r.At, lastUntil(a, r.At)})
			}
		}
		switch {
		case a.Mode != history.Add || !some:
		case a.N < 0:
			uses = append(uses, use{stretch{a.Called, history.Never}, -a.N})
		case a.Outcome == history.Got:
			total += a.N
			uses = append(uses, use{stretch{0, a.Back}, a.N}) // before that, the permits count as taken
		}
	}
	return func(w *history.Act) (taken []stretch) {
		switch w.Mode {
		case history.Exclusive:
			return append(slices.Clone(locked), shared...)
		case history.Shared:
			taken = slices.Clone(locked)
			for _, a := range t.Acts {
				if a.Mode == history.Exclusive && !a.Try {
					taken = append(taken, stretch{a.Called, min(announcedUntil(h, a, terms), h.End)})
				}
			}
			return taken
		case history.Permits:
			var moments []history.Time
			for _, u := range uses {
				moments = append(moments, u.from, u.to)
			}
			for _, at := range moments { // where too few are left, until the next end of a use
				left, end := total, history.Never
				for _, u := range uses {
					if u.from <= at && at < u.to {
						left, end = left-u.n, min(end, u.to)
					}
				}
				if left < w.N {
					taken = append(taken, stretch{at, end})
				}
			}
			// Those of one client are served in the order in which they begin to wait, and they wait when their first question
			// is answered: one that called a little later may be ahead.
			for _, a := range t.Acts {
				if a.Mode == history.Permits && !a.Try && a.Client == w.Client && a != w && a.Called < w.Called+terms.Slack {
					taken = append(taken, stretch{a.Called, min(a.Back, h.End)})
				}
			}
			return taken
		case history.Await:
			return []stretch{{0, closedUntil(t)}}
		}
		return []stretch{{0, history.Never}} // what does not wait
	}
}

// announced is for how long a writer keeps readers out that has said that it waits, and says nothing more.
const announced = history.Time(6 * time.Second)

// announcedUntil is until when a writer that waits may keep readers out. One whose client cannot take its announcement back when
// it leaves, or has died, keeps them out for as long as an announcement lasts.
func announcedUntil(h *history.History, a *history.Act, terms Terms) history.Time {
	switch killed := h.KilledAt(a.Client); {
	case a.Back == history.Never && killed != history.Never:
		return killed + announced
	case a.Outcome != history.Got && a.Back != history.Never && h.Hindered(a.Client, a.Called, a.Back+terms.Slack):
		return a.Back + announced
	}
	return a.Back
}

// possible is the time in which an act may have its object.
func possible(h *history.History, t *history.Thing, a *history.Act, terms Terms) (stretch, bool) {
	switch a.Outcome {
	case history.Refused, history.Failed:
		if Unsettled(h, terms, a) {
			return stretch{a.Called, lastUntil(a, h.KilledAt(a.Client))}, true
		}
		return stretch{}, false
	case history.Doubt:
		return stretch{a.Called, settledBy(h, terms, a, a.Back)}, true
	case "":
		if killed := h.KilledAt(a.Client); killed != history.Never {
			return stretch{a.Called, lastUntil(a, killed)}, true
		}
		return stretch{}, false // it still waits
	}
	from := a.Back
	if h.Hindered(a.Client, a.Called, a.Back) { // the server may have granted it long before its client knew
		from = a.Called
	}
	switch killed := h.KilledAt(a.Client); {
	case a.Over != history.Never:
		return stretch{from, a.Over}, true
	case killed != history.Never:
		return stretch{from, lastUntil(a, killed)}, true
	case a.Told != history.Never && a.Lease == 0: // its release is in doubt: what has no lease is not lost
		return stretch{from, settledBy(h, terms, a, a.Told)}, true
	case a.Told != history.Never:
		return stretch{from, renewedUntil(h, t, a) + a.Lease}, true
	}
	return stretch{from, history.Never}, true
}

// mayBring tells whether a late request of a client that was killed may have brought what an act asked for,
// or renewed it, so that it stays for a lease: the client did not live to settle it, and it was sent for an
// act that had not returned, or whose hold was not given back for certain. A copy of a question for permits
// that were given back takes none: the server knows the number of the operation.
func mayBring(h *history.History, terms Terms, r history.LateRequest, a *history.Act) bool {
	killed := h.KilledAt(r.Client)
	switch {
	case a.Client != r.Client || r.Sent < a.Called || killed == history.Never || killed > r.At+terms.Undo:
		return false
	case a.Outcome == history.Got && a.Over == history.Never:
		return true
	case a.Outcome == history.Got && a.Mode == history.Permits:
		return false
	}
	return r.Sent <= a.Back
}

// renewedUntil is until when what a hold has left in the server may be renewed: with what it was a part of. A re-entry is a part of the
// hold around it, and a reader may share with the other readers of its client.
func renewedUntil(h *history.History, t *history.Thing, a *history.Act) history.Time {
	last := a.Told
	if a.Within != nil {
		last = max(last, min(ended(a.Root()), h.End))
	}
	if a.Mode != history.Shared {
		return last
	}
	for _, other := range t.Acts {
		if other.Mode == history.Shared && other.Client == a.Client && other.Outcome == history.Got && other.Called <= a.Told {
			last = max(last, min(ended(other), h.End))
		}
	}
	return last
}

// lastUntil is when what an act has is over, if its last renewal was at a moment: for a client that was
// killed, right before that at the latest.
func lastUntil(a *history.Act, renewed history.Time) history.Time {
	if a.Lease == 0 {
		return history.Never
	}
	return renewed + a.Lease
}

// closedUntil is when a latch was counted down for certain, or Never.
func closedUntil(t *history.Thing) history.Time {
	var ends []history.Time
	for _, a := range t.Acts {
		if a.Mode == history.CountDown && a.Outcome == history.Got {
			ends = append(ends, a.Back)
		}
	}
	slices.Sort(ends)
	if int64(len(ends)) < t.N {
		return history.Never
	}
	return ends[t.N-1]
}

// longestGap is the longest time between from and to that no stretch covers, and where it begins.
func longestGap(taken []stretch, from, to history.Time) (at, free history.Time) {
	slices.SortFunc(taken, func(x, y stretch) int { return cmp.Compare(x.from, y.from) })
	at = from
	for _, s := range taken {
		if s.from >= to {
			break
		}
		if gap := s.from - from; gap > free {
			at, free = from, gap
		}
		from = max(from, s.to)
		if from >= to {
			return at, free
		}
	}
	if gap := to - from; gap > free {
		at, free = from, gap
	}
	return at, free
}
