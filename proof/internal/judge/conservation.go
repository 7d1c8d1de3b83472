package judge

import (
	"fmt"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// conservation: when everything is over, locks are free, and a semaphore has the permits that it was given. An operation of
// unknown outcome may have happened or not.
func conservation(h *history.History, t *history.Thing, terms Terms) (findings []string, _ int) {
	if t.Final == nil || len(t.Outside) > 0 {
		return nil, 0
	}
	if has(t, history.Write) {
		return nil, 0
	}
	if len(t.Grants(history.Permits)) == 0 && !has(t, history.Permits) && !has(t, history.Add) {
		if has(t, history.CountDown) || has(t, history.Await) {
			return latchLeft(t)
		}
		if *t.Final != 0 {
			findings = append(findings, fmt.Sprintf("%d holds are left when all is over", *t.Final))
		}
		return findings, 0
	}
	least, most := t.N, t.N
	for _, a := range t.Acts {
		switch {
		case a.Mode == history.Add && a.Outcome == history.Got:
			least, most = least+a.N, most+a.N
		case a.Mode == history.Add && (a.Outcome == history.Doubt || a.Outcome == ""):
			least, most = least+min(0, a.N), most+max(0, a.N)
		case a.Mode == history.Permits && a.Lease == 0 && (lostWithItsClient(h, a) || Unsettled(h, terms, a)):
			least -= a.N // permits without a lease stay taken
		}
	}
	if *t.Final < least || *t.Final > most {
		findings = append(findings, fmt.Sprintf("%d permits are left when all is over, and there should be %s", *t.Final, between(least, most)))
	}
	return findings, 0
}

// latchLeft compares the count that is left with the operations that can have lowered it.
func latchLeft(t *history.Thing) (findings []string, _ int) {
	least, most := t.N, t.N
	for _, a := range t.Acts {
		if a.Mode != history.CountDown {
			continue
		}
		switch a.Outcome {
		case history.Got:
			least, most = least-1, most-1
		case history.Doubt, "":
			least--
		}
	}
	least, most = max(0, least), max(0, most)
	if *t.Final < least || *t.Final > most {
		findings = append(findings, fmt.Sprintf("the count is %d when all is over, and should be %s", *t.Final, between(least, most)))
	}
	return findings, 0
}

// lostWithItsClient tells whether permits may be gone because their client was killed before it gave them back.
func lostWithItsClient(h *history.History, a *history.Act) bool {
	return h.KilledAt(a.Client) != history.Never && a.Over == history.Never && a.Outcome != history.Refused && a.Outcome != history.Failed
}

// Unsettled tells whether an acquisition that brought nothing may have left what it asked for with the server: the server
// executed it, the answer did not come, and the client was killed before it could give back what it did not know of.
func Unsettled(h *history.History, terms Terms, a *history.Act) bool {
	killed := h.KilledAt(a.Client)
	return (a.Outcome == history.Refused || a.Outcome == history.Failed) && killed != history.Never && killed < settledBy(h, terms, a, a.Back)
}

// settledBy is when the library has settled what was in doubt of the act at a moment. A client that was suspended meanwhile
// has the whole time once more.
func settledBy(h *history.History, terms Terms, a *history.Act, at history.Time) history.Time {
	by := at + terms.Undo
	for _, o := range h.Outages { // in the order of their beginnings
		switch {
		case o.Client != a.Client || o.Killed || o.From >= by || o.To <= at:
		case o.To == history.Never:
			return history.Never
		default:
			by = max(by, o.To+terms.Undo)
		}
	}
	return by
}

func has(t *history.Thing, mode history.Mode) bool {
	for _, a := range t.Acts {
		if a.Mode == mode {
			return true
		}
	}
	return false
}

func between(least, most int64) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("between %d and %d", least, most)
}
