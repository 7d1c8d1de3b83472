package history

import (
	"fmt"
	"slices"
)

// A History is all journals of a run, put together.
type History struct {
	Things  []*Thing
	Outages []Outage
	Begin   Time
	End     Time
}

// A Thing is one object and what was done with it.
type Thing struct {
	Name    string
	N       int64 // permits, or the count of a latch
	Bound   Time
	Fair    bool
	Lane    Lane
	Acts    []*Act        // in the order of their calls
	Outside []Span        // acts that the promises exclude, in the order of their ends
	Heard   []Hearing     // of acts from outside
	Late    []LateRequest // in the order in which they were executed
	Final   *int64        // what the server says of it in the end; nil when it was not asked
	Data    []*Act        // the writes that have left something, in the order in which they stand
}

// A Span is the time in which something had its effect.
type Span struct {
	From, To Time
	Loss     bool // the server may have lost what it had acknowledged
}

// A Hearing is the arrival of a message that an object was taken away.
type Hearing struct {
	Client string
	At     Time
}

// A LateRequest is one that was executed long after it was sent, or when its client had been killed.
type LateRequest struct {
	Client   string
	Sent, At Time
}

// An Act is one operation, with the hold that it may have brought.
type Act struct {
	Client  string
	Op      int64
	Mode    Mode
	Try     bool
	N       int64
	Token   int64
	Lease   Time
	Most    Time // how long its caller may believe in the hold; 0: no limit
	Least   Time // for how long from the call on the hold cannot run out; 0: it is not known
	Asks    bool // the server is asked, so what it gets was not handed on within its process
	Within  *Act // the hold in whose context it was made
	Called  Time
	Outcome What // Got, Refused, Failed or Doubt; empty when it never returned
	Back    Time // when it returned; Never when it did not
	Queued  Time // 0 when the waiter was not seen in the queue

	// Of a hold.
	IDs     []string // that the program was told
	Certain Time     // the last moment at which it was certainly in force: its return, or a later Valid
	Told    Time     // when its context ended with a loss, or when it ended without being given back for certain; Never
	Lost    Time     // when its context, or its release, said that it was lost; Never
	Leaving Time     // when its release was called; Never
	Over    Time     // when its release returned and had happened; Never
}

// An Outage is a time in which a client could not act.
type Outage struct {
	Client   string
	From, To Time
	Killed   bool
}

// Root is the outermost hold in whose context the act was made, or itself: what has one root is one holder.
func (a *Act) Root() *Act {
	for a.Within != nil {
		a = a.Within
	}
	return a
}

// String names the act in a verdict.
func (a *Act) String() string { return fmt.Sprintf("%s#%d", a.Client, a.Op) }

// Hindered tells whether the client could not act for some part of a time.
func (h *History) Hindered(client string, from, to Time) bool {
	return slices.ContainsFunc(h.Outages, func(o Outage) bool { return o.Client == client && o.From < to && from < o.To })
}

// KilledAt is when the client was killed, or Never.
func (h *History) KilledAt(client string) Time {
	for _, o := range h.Outages {
		if o.Client == client && o.Killed {
			return o.From
		}
	}
	return Never
}

// Lost tells whether the server may have lost what it had acknowledged of the object, at some time between two moments.
func (t *Thing) Lost(from, to Time) bool {
	return slices.ContainsFunc(t.Outside, func(act Span) bool { return act.Loss && from <= act.To && act.From <= to })
}

// Grants are the acts that brought what they asked for.
func (t *Thing) Grants(modes ...Mode) (grants []*Act) {
	for _, a := range t.Acts {
		if a.Outcome == Got && slices.Contains(modes, a.Mode) {
			grants = append(grants, a)
		}
	}
	return grants
}
