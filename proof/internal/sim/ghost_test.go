package sim_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// A request that is executed after its client has died excuses waiters for as long as a request of that client may take the
// lock, or a place in its queue, and for no longer: not at all where the client does not use the object.
func TestALateRequestCountsForItsClientsTerms(t *testing.T) {
	for _, c := range []struct {
		name string
		step string
		want time.Duration
	}{
		{"a long patience", `{"object":0,"way":"fair","patience":40000000000,"lease":2000000000}`, 51 * time.Second},
		{"a short patience", `{"object":0,"way":"fair","patience":3000000000,"lease":2000000000}`, 14 * time.Second},
		{"the usual patience", `{"object":0,"way":"fair","lease":2000000000}`, 26 * time.Second},
		{"a longer lease", `{"object":0,"way":"fair","patience":3000000000}`, 31 * time.Second},
		{"another object", `{"object":1,"way":"rlock"}`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The first copy of the first client's command arrives when that is dead.
			var p sim.Plan
			text := `{"objects":[{"name":"o0","kind":"fair"},{"name":"o1","kind":"lock"}],
				"clients":[{"timeout":300000000,"workers":[[` + strings.Replace(c.step, "{", `{"think":20000000,"hold":1000000,`, 1) + `]]},
					{"timeout":300000000,"workers":[[{"think":1000000,"object":0,"way":"fair","hold":2000000000},
						{"think":5000000000,"object":0,"way":"fair","hold":1000000}]]}],
				"faults":[{"at":10000000,"client":0,"kind":"late copy","for":5000000000},{"at":1000000000,"client":0,"kind":"kill"}]}`
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			result := inBubble(t, p, sim.Library)
			for _, b := range result.Broken {
				t.Error("broken:", b)
			}
			for _, f := range result.Report.Findings {
				t.Error(f)
			}
			var lease time.Duration
			for _, r := range result.Records {
				if strings.HasPrefix(r.Client, "ghost") && r.Object == "o0" && r.What == history.Call {
					lease = time.Duration(r.Lease)
				}
			}
			if lease != c.want {
				t.Errorf("the late request counts for %v, want %v", lease, c.want)
			}
		})
	}
}
