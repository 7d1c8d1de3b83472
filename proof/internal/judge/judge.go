// Package judge says of a history what is wrong with it. Each check stands in a file of its own, with the rule that it
// holds a run to; the tests of each check have histories that it must convict, and near misses that it must acquit.
//
// The checks look at what was certain for the caller, not at what the server thought. A hold counts from the return of
// its acquisition to the last moment before which Valid said true. So a process that was suspended, or whose records
// come late, is never convicted for what it did not claim.
package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/proof/internal/history"
)

// A Verdict is what a history comes to.
type Verdict string

// The verdicts.
const (
	Green   Verdict = "GREEN"   // everything was checked, and nothing was found
	Red     Verdict = "RED"     // something is wrong
	Invalid Verdict = "INVALID" // too little happened to say anything
)

// Terms are what a run is held to.
type Terms struct {
	Slack    history.Time // how late a process may learn of a loss, and how long a reply may take where nothing is wrong
	HandOn   history.Time // for how long after an act from outside a process may hand on what it has lost to it
	Window   history.Time // for how long after an act from outside a hold may believe what is no longer so
	Undo     history.Time // how long the library takes to settle what was in doubt
	Grants   int          // fewer grants make the run invalid
	PerGrant history.Time // more time for each grant makes it invalid; 0: no limit
}

// A Finding is one thing that is wrong.
type Finding struct {
	Check  string
	Object string
	Text   string
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Check, f.Object, f.Text) }

// A Report is the verdict with what it stands on.
type Report struct {
	Verdict  Verdict
	Findings []Finding
	Excused  int // overlaps that lie within the window of an act from outside
	Grants   int
	Why      string // why it is invalid
}

// A check looks at one object.
type check struct {
	name string
	look func(h *history.History, t *history.Thing, terms Terms) (findings []string, excused int)
}

// checks are all of them, in the order in which they are reported. Safety is before liveness.
var checks = []check{
	{"exclusion", exclusion},
	{"permits", permits},
	{"ids", ids},
	{"tokens", tokens},
	{"stale write", staleWrites},
	{"data", data},
	{"early latch", earlyLatch},
	{"late loss", lateLoss},
	{"false loss", falseLoss},
	{"overdue", overdue},
	{"order", order},
	{"conservation", conservation},
	{"stall", stall},
}

// needsServer are the checks of what a server promises that keeps what it has acknowledged. After a failover that has
// lost something permits and counts are wrong, and a lock that was given back is taken until its lease is over.
var needsServer = []string{"permits", "early latch", "conservation", "stall"}

// Judge runs all checks. A history with a finding is red however little has happened in it.
func Judge(h *history.History, terms Terms) Report {
	r := Report{Verdict: Green}
	for _, t := range h.Things {
		r.Grants += Grants(t)
		lost := t.Lost(h.Begin, h.End)
		for _, c := range checks {
			if lost && slices.Contains(needsServer, c.name) {
				continue
			}
			findings, excused := c.look(h, t, terms)
			r.Excused += excused
			for _, text := range findings {
				r.Findings = append(r.Findings, Finding{c.name, t.Name, text})
			}
		}
	}
	switch lasted := h.End - h.Begin; {
	case len(r.Findings) > 0:
		r.Verdict = Red
	case r.Grants < terms.Grants:
		r.Verdict, r.Why = Invalid, fmt.Sprintf("%d grants, and %d are the least that says something", r.Grants, terms.Grants)
	case terms.PerGrant > 0 && lasted > terms.PerGrant*history.Time(r.Grants):
		r.Verdict, r.Why = Invalid, fmt.Sprintf("%d grants in %v are too few", r.Grants, time.Duration(lasted))
	}
	return r
}

// Grants is how often an object gave what it was asked for.
func Grants(t *history.Thing) int {
	return len(t.Grants(history.Exclusive, history.Shared, history.Permits, history.Await))
}

// excusedUntil is the end of the last window that is open at a moment, or the moment itself. The window of an act from
// outside excuses those only who had their hold from before the act.
func excusedUntil(h *history.History, t *history.Thing, terms Terms, a *history.Act, at history.Time) history.Time {
	until := at
	for _, act := range t.Outside {
		if act.From <= until && Had(h, t, terms, a, act) {
			until = max(until, WindowEnd(h, terms, a.Client, act))
		}
	}
	return until
}

// WindowEnd is until when a client may believe in what an act from outside has taken away. If it could not act in some
// part of the window, a renewal may have failed then, and is repeated within half a period.
func WindowEnd(h *history.History, terms Terms, client string, act history.Span) history.Time {
	until := act.To + terms.Window
	for _, o := range h.Outages { // in the order in which they began
		if o.Client == client && o.From <= until && o.To >= act.To && o.To < history.Never-terms.Window {
			until = max(until, o.To+terms.Window/2)
		}
	}
	return until
}

func span(t history.Time) time.Duration { return time.Duration(t) }
