package views

import (
	"math"
	"time"

	"github.com/redlatch/redlatch/fleet"
)

// A report is what a client has said at one moment about what it waits for, and at the one before.
type report struct {
	seen   time.Time
	uses   map[string]fleet.ClientObject // by key
	before *report                       // nil for the first that was seen
}

// observe keeps the last two reports of each client. A client reports every few seconds, so most frames bring none.
func (w *Watch) observe(clients []*fleet.Client) {
	had := w.reports
	w.reports = map[string]*report{}
	for _, c := range clients {
		last := had[c.ID]
		if last != nil && !c.Seen.After(last.seen) {
			w.reports[c.ID] = last
			continue
		}
		fresh := &report{seen: c.Seen, uses: map[string]fleet.ClientObject{}}
		for _, u := range c.Objects {
			sum := fresh.uses[u.Key] // of the sides of a read-write lock
			sum.Waits += u.Waits
			sum.Waited += u.Waited
			fresh.uses[u.Key] = sum
		}
		if last != nil {
			last.before = nil
			fresh.before = last
		}
		w.reports[c.ID] = fresh
	}
	w.ended = map[string]float64{}
	for _, r := range w.reports {
		for key := range r.uses {
			w.ended[key] += r.ended(key)
		}
	}
}

// contention is for how many seconds calls wait for an object in one second: 3 means that three wait at any time. It is the sum
// of two parts:
//
//   - calls that wait now: each counts as one; one that has waited for less than the time between the last two reports of its client
//     counts as the part of that time for which it has waited;
//   - waits that ended between these two reports, by how long they took, but for no longer than that time.
//
// Of a client that was seen to report once only the first part is known.
func (w *Watch) contention(o *fleet.Object) (sum float64) {
	for _, one := range o.Waiting.Processes {
		if one.Silent() {
			continue
		}
		part := 1.0
		r := w.reports[one.ClientID]
		if r != nil && r.before != nil && !one.Since.IsZero() {
			part = min(1, max(0, r.seen.Sub(one.Since).Seconds())/r.seen.Sub(r.before.seen).Seconds())
		}
		sum += part * float64(max(1, one.Calls))
	}
	return round(sum + float64(max(0, o.Waiting.Outsiders)) + w.ended[o.Key])
}

// ended is the second part for one client.
func (r *report) ended(key string) float64 {
	if r.before == nil {
		return 0
	}
	use, was := r.uses[key], r.before.uses[key]
	if use.Waits < was.Waits || use.Waited < was.Waited { // it has counted from 0 since
		was = fleet.ClientObject{}
	}
	between := r.seen.Sub(r.before.seen).Seconds()
	waits, waited := float64(use.Waits-was.Waits), (use.Waited - was.Waited).Seconds()
	return min(waited, waits*between) / between
}

// calls are those that wait now, one at least for each process that is not silent.
func calls(o *fleet.Object) (n int64) {
	for _, one := range o.Waiting.Processes {
		if !one.Silent() {
			n += max(1, one.Calls)
		}
	}
	return n + max(0, o.Waiting.Outsiders)
}

// round keeps three digits behind the point.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }
