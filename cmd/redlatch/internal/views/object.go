package views

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

// An Object is one lock, semaphore or latch.
type Object struct {
	Name       string  `json:"name"`
	NameBase64 string  `json:"name_base64"`
	Kind       string  `json:"kind"` // empty: nothing is there that tells
	Exists     bool    `json:"exists"`
	Lease      Seconds `json:"lease_seconds"` // how long it lasts if nobody renews it; null without a TTL
	Value      int64   `json:"value"`         // permits that are available, or the count of a latch
	Total      int64   `json:"total"`         // permits of a permit semaphore
	Token      int64   `json:"token"`         // of a fenced lock, the newest

	Holders     []Holder     `json:"holders"`
	Unconfirmed []Claim      `json:"unconfirmed"`
	Waiting     []Waiter     `json:"waiting"`
	Outsiders   int64        `json:"outsiders"` // connections that listen for it and are not known to be of this library; -1: unknown
	Unreadable  []Unreadable `json:"unreadable"`

	kind redlatch.Kind
}

// A Holder is one identity that holds.
type Holder struct {
	Party
	Owner       string  `json:"owner"`
	Side        string  `json:"side"` // of a read-write lock
	Value       string  `json:"value"`
	ValueBase64 string  `json:"value_base64"` // of a group
	Holds       int64   `json:"holds"`
	Kept        bool    `json:"kept"` // its program has given it back, and WithAtLeast keeps it
	Since       Time    `json:"since"`
	Held        Seconds `json:"held_seconds"`
	Lease       Seconds `json:"lease_seconds"` // null without one
}

// A Claim is what a client says to hold and the object's keys do not confirm.
type Claim struct {
	Party
	Owner string  `json:"owner"`
	Side  string  `json:"side"`
	Holds int64   `json:"holds"`
	Since Time    `json:"since"`
	Held  Seconds `json:"held_seconds"`
}

// A Waiter is one process that waits, in the order in which they stand.
type Waiter struct {
	Party
	Place  int     `json:"place"` // in the queue in Redis, from 1; 0: not in one
	Calls  int64   `json:"calls"` // 0: not known
	Side   string  `json:"side"`
	Since  Time    `json:"since"`
	Waited Seconds `json:"waited_seconds"` // of one that is silent, up to its last report
	Gone   bool    `json:"gone"`           // it has not asked for so long that others pass over it
}

// An Unreadable is something that was passed over.
type Unreadable struct {
	Key       string `json:"key"`
	KeyBase64 string `json:"key_base64"`
	Field     string `json:"field"`
	Reason    string `json:"reason"`
}

func newUnreadable(all []fleet.Unreadable) []Unreadable {
	list := []Unreadable{}
	for _, u := range all {
		list = append(list, Unreadable{u.Key, exact(u.Key), u.Field, u.Detail})
	}
	return list
}

func newObject(o *fleet.Object, now time.Time) Object {
	v := Object{
		Name: o.Key, NameBase64: exact(o.Key), Kind: string(o.Kind), Exists: o.Info.Exists,
		Value: o.Info.Value, Total: o.Info.Total, Token: o.Info.Token,
		Holders: []Holder{}, Unconfirmed: []Claim{}, Waiting: []Waiter{}, Outsiders: o.Waiting.Outsiders, Unreadable: newUnreadable(o.Unreadable),
		kind: o.Kind,
	}
	if v.Exists {
		v.Lease = lease(o.Info.TTL)
	}
	for _, h := range o.Holders {
		party := newParty(h.Client, h.ClientID, h.Who())
		party.kept, party.hears = h.Kept, party.hears && !h.Kept
		v.Holders = append(v.Holders, Holder{
			Party: party, Kept: h.Kept, Owner: h.Owner, Side: h.Side, Value: h.Value, ValueBase64: exact(h.Value),
			Holds: h.Holds, Since: Time(h.Since), Held: since(h.Since, now), Lease: lease(h.TTL),
		})
	}
	for _, c := range o.Unconfirmed {
		v.Unconfirmed = append(v.Unconfirmed, Claim{
			Party: newParty(c.Client, "", c.Who()), Owner: c.Owner, Side: c.Side, Holds: c.Holds, Since: Time(c.Since), Held: since(c.Since, now),
		})
	}
	for _, w := range o.Waiting.Processes {
		till := now
		if w.Silent() {
			till = w.Client.Seen
		}
		v.Waiting = append(v.Waiting, Waiter{
			Party: newParty(w.Client, w.ClientID, w.Who()), Place: w.Place, Calls: w.Calls, Side: w.Side, Since: Time(w.Since),
			Waited: since(w.Since, till), Gone: w.Gone,
		})
	}
	return v
}

// oldest is how long those wait who have waited longest, and not known where no process waits.
func (o *Object) oldest() (longest Seconds) {
	for _, w := range o.Waiting {
		if !w.Silent && w.Waited.Known && w.Waited.Duration >= longest.Duration {
			longest = w.Waited
		}
	}
	return longest
}

// waits tells how many processes wait at least. One that is silent is not among them: its program has ended, as a rule.
func (o *Object) waits() int64 { return int64(len(o.Waiting)) - o.ghosts() + max(0, o.Outsiders) }

// ghosts tells how many processes have said that they wait, and are silent since.
func (o *Object) ghosts() (n int64) {
	for _, w := range o.Waiting {
		if w.Silent {
			n++
		}
	}
	return n
}
