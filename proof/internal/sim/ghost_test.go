package sim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// A request that is executed after its client has given it up excuses waiters for as long as a request of
// that client may take the lock, or a place in its queue, and for no longer: not at all where the client does
// not use the object.
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
			// The first copy of the first client's command arrives long after that has had its answer to the
			// second.
			var p sim.Plan
			text := `{"objects":[{"name":"o0","kind":"fair"},{"name":"o1","kind":"lock"}],
				"clients":[{"timeout":300000000,"workers":[[` + strings.Replace(c.step, "{", `{"think":20000000,"hold":1000000,`, 1) + `]]},
					{"timeout":300000000,"workers":[[{"think":1000000,"object":0,"way":"fair","hold":2000000000},
						{"think":5000000000,"object":0,"way":"fair","hold":1000000}]]}],
				"faults":[{"at":10000000,"client":0,"kind":"late copy","for":5000000000}]}`
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

// A request that is executed when its client has been killed, or right before, is on record for what it
// names, however short its delay was, and whatever delayed it.
func TestARequestThatItsClientDoesNotLiveToSettleIsOnRecord(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  string // of the objects
		step  string
		fault string
		waits time.Duration // after which the other client calls
	}{
		{"a copy that the client would have waited for", "lock", `"way":"nonreentrant"`, `{"kind":"late copy","for":2000000000,"at":10000000`, 2100 * time.Millisecond},
		{"a copy that comes right before the kill", "lock", `"way":"nonreentrant"`, `{"kind":"late copy","for":470000000,"at":10000000`, time.Second},
		{"a request that was frozen", "lock", `"way":"rlock"`, `{"kind":"late request","for":200000000,"at":10000000,"client":0},{"kind":"freeze","for":8000000000,"at":100000000`, 9 * time.Second},
		{"a question for permits", "permits", `"way":"permits","n":1,"lease":8000000000`, `{"kind":"late request","for":7000000000,"at":10000000`, 7050 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p sim.Plan
			text := fmt.Sprintf(`{"objects":[{"name":"o0","kind":%q,"n":1},{"name":"o1","kind":%q,"n":1}],
				"clients":[{"timeout":3000000000,"workers":[[{"think":20000000,"object":0,"hold":1000000,%s}]]},
					{"timeout":3000000000,"workers":[[{"think":1000000,"object":0,"hold":1000000,%s},
						{"think":%d,"object":0,"hold":1000000,%s}]]}],
				"faults":[%s,"client":0},{"at":500000000,"client":0,"kind":"vanish"}]}`, c.kind, c.kind, c.step, c.step, c.waits, c.step, c.fault)
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
			var late []string
			for _, r := range result.Records {
				if r.What == history.Late {
					late = append(late, r.Client+" "+r.Object)
				}
			}
			if len(late) != 1 || late[0] != "c0 o0" {
				t.Errorf("on record are %v, want one of c0 for o0", late)
			}
		})
	}
}
