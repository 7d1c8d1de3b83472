package sim_test

import (
	"reflect"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/sim"
)

// How often two runs of a seed have the same records, to the nanosecond. It is measured and not required: where two
// goroutines run at one instant the scheduler decides, and some pauses of the library are random.
func TestHowManySeedsReplay(t *testing.T) {
	same, some := 0, *seeds
	for seed := *first; seed < *first+some; seed++ {
		p := sim.Draw(seed)
		a, b := inBubble(t, p, sim.Library), inBubble(t, p, sim.Library)
		for _, r := range [][]int{{len(a.Records), len(b.Records)}} {
			if r[0] == 0 || r[1] == 0 {
				t.Fatalf("seed %d has no records", seed)
			}
		}
		if reflect.DeepEqual(without(a), without(b)) {
			same++
		}
	}
	t.Logf("%d of %d seeds have the same records twice", same, some)
}

// without leaves out texts, in which identities are random.
func without(r sim.Result) sim.Result {
	for i := range r.Records {
		r.Records[i].Text = ""
	}
	r.Report = sim.Result{}.Report
	return r
}
