package sim_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/sim"
)

// Plans that were convicted once, made smaller, and kept. What each has found is in its name. Some were
// convicted although the library was right. Those of a lost question, of a reader that has heard, of one
// that comes long after, of a block of tokens and of an id that was told are for mutants, which they
// convict.
//
// Three were written for mutants that the plans of seeds convict too rarely. Two of them are for this one:
// a process stands in the queue as one that can be passed the lock, its head wants a shorter lease than a
// pass gives, the message is lost, and the head takes the lock when it asks and leaves it to its lease.
// Each is for one of the two commands that enter a process. The third is that of an id that was told: five
// goroutines take turns at one permit and ask for its id at once. The second turn begins with a fresh id
// that Redis has just confirmed, so that nothing but its having been told forbids it to move.
func TestPlansThatWereConvictedOnce(t *testing.T) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no plans", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p := read(t, name)
			for range 5 { // two runs of a plan may differ
				result := inBubble(t, p, sim.Library)
				for _, b := range result.Broken {
					t.Error("broken:", b)
				}
				for _, f := range result.Report.Findings {
					t.Error(f)
				}
				agree(t, p, result, true)
			}
		})
	}
}

func read(t *testing.T, name string) (p sim.Plan) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p
}
