package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/redlatch/redlatch/fleet"
)

// Schema is the name of the form of a Report in JSON. Fields are added to it, never changed.
const Schema = "redlatch.doctor/1"

// A Report is what an examination came to.
type Report struct {
	Schema   string    `json:"schema"`
	Server   string    `json:"server"`
	Topology string    `json:"topology"` // single, sentinel or cluster
	Masters  []string  `json:"masters"`
	Worst    string    `json:"worst"` // error, warn, unknown or ok
	Counts   Counts    `json:"counts"`
	Findings []Finding `json:"findings"`

	Fine   []string `json:"fine"`           // the checks that were looked at and found nothing
	Beside []string `json:"not_applicable"` // those that do not apply
	Ignore []string `json:"ignored"`        // those that were left out

	Figures Figures `json:"figures"`
}

// Counts are how many findings there are.
type Counts struct {
	Error   int `json:"error"`
	Warn    int `json:"warn"`
	Info    int `json:"info"`
	Unknown int `json:"unknown"`
}

// A Finding is what one check has found, or could not look at.
type Finding struct {
	ID     string  `json:"id"`
	Result string  `json:"result"` // found or unknown
	Level  Level   `json:"level"`  // of the finding; if it is unknown, the level that it would have
	Means  string  `json:"means"`
	Do     string  `json:"do"`
	Docs   string  `json:"docs"`
	Places []Place `json:"places"`
}

// The results of a finding.
const (
	Found   = "found"
	Unknown = "unknown"
)

// A Place is a server on which something was found, or the reason why it could not be looked at.
type Place struct {
	Node   string `json:"node,omitempty"` // empty: all together
	Detail string `json:"detail"`
}

// Figures are the worst that was measured on any master; nil where it is unknown.
type Figures struct {
	RoundTrip *float64 `json:"rtt_p99_ms"`
	Memory    *float64 `json:"memory_percent"`
	Clients   *float64 `json:"clients_percent"`

	OldestWait    *float64 `json:"oldest_wait_seconds"` // of the calls that wait now; 0: none does
	SilentHolders *float64 `json:"silent_holders"`      // how many holders belong to processes that are probably dead
}

const docs = "https://github.com/redlatch/redlatch/blob/main/docs/"

// report sums the answers up.
func (p *patient) report(ctx context.Context, all *answers) *Report {
	r := &Report{
		Schema: Schema, Server: p.Where, Topology: p.topology(), Masters: []string{}, Findings: []Finding{},
		Fine: []string{}, Beside: []string{}, Ignore: []string{},
	}
	for _, n := range p.nodes {
		r.Masters = append(r.Masters, n.addr)
	}
	for _, c := range Checks {
		if slices.Contains(p.Ignore, c.ID) {
			r.Ignore = append(r.Ignore, c.ID)
			continue
		}
		r.sum(c, all.of[c.ID])
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.rank(), b.rank()) })
	switch {
	case r.Counts.Error > 0:
		r.Worst = string(Error)
	case r.Counts.Warn > 0:
		r.Worst = string(Warn)
	case r.Counts.Unknown > 0:
		r.Worst = Unknown
	default:
		r.Worst = "ok"
	}
	r.Figures = p.figures(ctx)
	return r
}

// Code is the exit code of doctor.
func (r *Report) Code() int {
	return map[string]int{string(Error): 2, string(Warn): 1, Unknown: 1, "ok": 0}[r.Worst]
}

// sum makes one thing of what a check said of several masters: found anywhere is found, and fine only where nothing is unknown.
func (r *Report) sum(c *Check, said []placed) {
	of := func(s state) (places []Place) {
		for _, one := range said {
			if one.state == s {
				places = append(places, Place{one.node, one.detail})
			}
		}
		slices.SortFunc(places, func(a, b Place) int { return cmp.Compare(a.Node, b.Node) })
		return places
	}
	f := Finding{ID: c.ID, Level: c.Level, Means: c.Means, Do: c.Do, Docs: docs + c.Page}
	switch {
	case len(of(found)) > 0:
		f.Result, f.Places = Found, of(found)
		*map[Level]*int{Error: &r.Counts.Error, Warn: &r.Counts.Warn, Info: &r.Counts.Info}[c.Level]++
	case len(of(unknown)) > 0 || len(said) == 0:
		f.Result, f.Places = Unknown, of(unknown)
		r.Counts.Unknown++
	case len(of(fine)) > 0:
		r.Fine = append(r.Fine, c.ID)
		return
	default:
		r.Beside = append(r.Beside, c.ID)
		return
	}
	r.Findings = append(r.Findings, f)
}

// rank orders findings, the worst first.
func (f Finding) rank() int {
	if f.Result == Unknown {
		return 2
	}
	return map[Level]int{Error: 0, Warn: 1, Info: 3}[f.Level]
}

func (p *patient) figures(ctx context.Context) (f Figures) {
	worst := func(to **float64, value float64, err error) {
		if err == nil && (*to == nil || value > **to) {
			*to = &value
		}
	}
	for _, n := range p.nodes {
		if n.up == nil {
			worst(&f.RoundTrip, float64(percentile(n.trips, 99))/float64(time.Millisecond), nil)
			memory, err := n.memory(ctx)
			worst(&f.Memory, memory*100, err)
			clients, err := n.clients(ctx)
			worst(&f.Clients, clients*100, err)
		}
	}
	if r, err := p.list.of(func() (*fleet.Report, error) { return p.listed(ctx) }); err == nil {
		f.OldestWait, f.SilentHolders = ofLocks(r)
	}
	return f
}

// ofLocks are the figures of all locks, semaphores and latches that could be found.
func ofLocks(r *fleet.Report) (oldestWait, silentHolders *float64) {
	oldestWait, silentHolders = new(float64), new(float64)
	for _, o := range r.Objects {
		for _, w := range o.Waiting.Processes {
			if !w.Silent() && !w.Since.IsZero() {
				*oldestWait = max(*oldestWait, r.At.Sub(w.Since).Seconds())
			}
		}
		for _, h := range o.Holders {
			if h.Client != nil && h.Client.Silent() {
				*silentHolders++
			}
		}
	}
	return oldestWait, silentHolders
}

// JSON writes the report as a document of the Schema.
func (r *Report) JSON(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}
