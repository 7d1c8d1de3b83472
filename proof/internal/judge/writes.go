package judge

import (
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// staleWrites: once a guard has accepted a write, it accepts no later write with a smaller token. It refuses a write only if
// one with a greater token had begun by then.
func staleWrites(_ *history.History, t *history.Thing, _ Terms) (findings []string, _ int) {
	for _, pair := range inversions(t.Grants(history.Write), func(earlier, later int64) bool { return earlier > later }) {
		findings = append(findings, fmt.Sprintf("%v was accepted with token %d, and after it %v with token %d",
			pair[0], pair[0].Token, pair[1], pair[1].Token))
	}
	for _, a := range t.Acts {
		if a.Mode == history.Write && a.Outcome == history.Refused && !slices.ContainsFunc(t.Acts, func(b *history.Act) bool {
			return b.Mode == history.Write && b.Token > a.Token && b.Called < a.Back
		}) {
			findings = append(findings, fmt.Sprintf("%v was refused with token %d before any write with a greater one began", a, a.Token))
		}
	}
	return findings, 0
}

// data: an accepted write stands in the data once, a refused one not at all. Tokens never fall from one write in the data to
// the next. A write stands behind all that had been accepted before it began. A write whose outcome is unknown may be made
// until the library has settled it.
func data(h *history.History, t *history.Thing, terms Terms) (findings []string, _ int) {
	if t.Final == nil {
		return nil, 0
	}
	times := map[*history.Act]int{}
	var last, latest *history.Act // the write right before, and of all before the one that was called last
	for _, a := range t.Data {
		times[a]++
		if last != nil && last.Token > a.Token {
			findings = append(findings, fmt.Sprintf("%v with token %d stands behind %v with token %d", a, a.Token, last, last.Token))
		}
		back := a.Back
		if a.Outcome == history.Doubt {
			back = settledBy(h, terms, a, back)
		}
		if latest != nil && back <= latest.Called {
			findings = append(findings, fmt.Sprintf("%v had returned before %v was called, and stands behind it", a, latest))
		}
		if last = a; latest == nil || a.Called > latest.Called {
			latest = a
		}
	}
	for _, a := range t.Acts {
		least, most := int64(0), a.N
		switch a.Outcome {
		case history.Got:
			least = a.N
		case history.Refused, history.Failed:
			most = 0
		}
		if n := int64(times[a]); a.Mode == history.Write && (n < least || n > most) {
			findings = append(findings, fmt.Sprintf("what %v has written stands there %d times, and should be %s", a, n, between(least, most)))
		}
	}
	return findings, 0
}
