package evidence

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A defect is a line of defects.txt.
type defect struct {
	worst                    bool
	kind, commit, met, found string
	tests                    []string // none: no test is known
}

const unheld = "none yet"

// A kind is how bad a defect was.
type kind struct{ name, title string }

var kinds = []kind{
	{"safety", "Two holders, lost permits, outcomes that were not true"},
	{"waiting", "Calls that waited for what they could have"},
	{"remains", "What stayed behind, or cost too much"},
	{"words", "What errors, events and views said"},
}

func defects(t *testing.T) (all []defect) {
	for line := range strings.Lines(read(t, "internal/test/evidence/defects.txt")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, " | ")
		require.Len(t, cells, 5, line)
		kind, worst := strings.CutPrefix(cells[0], "!")
		d := defect{worst: worst, kind: kind, commit: cells[1], met: cells[2], found: cells[3]}
		if cells[4] != unheld {
			d.tests = strings.Fields(cells[4])
		}
		all = append(all, d)
	}
	return all
}

func TestEachDefectIsReadAndHeldByTestsThatAreThere(t *testing.T) {
	there, err := tests()
	require.NoError(t, err)
	worst := 0
	for _, d := range defects(t) {
		require.Regexp(t, regexp.MustCompile("^[0-9a-f]{8}$"), d.commit)
		require.True(t, slices.ContainsFunc(kinds, func(k kind) bool { return k.name == d.kind }), d.kind)
		require.NotEmpty(t, d.met)
		require.NotEmpty(t, d.found)
		for _, test := range d.tests {
			if there[test] == nil {
				t.Errorf("defects.txt: %s names %s, which is no test", d.commit, test)
			}
		}
		if d.worst {
			worst++
			require.NotEmpty(t, d.tests, "%s is among the worst", d.commit)
		}
	}
	require.Equal(t, 20, worst)
}
