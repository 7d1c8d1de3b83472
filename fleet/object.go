package fleet

import (
	"time"

	"github.com/redlatch/redlatch"
)

// An Object is one lock, semaphore or latch.
type Object struct {
	Kind redlatch.Kind // Detect where nothing is there that tells
	Key  string        // the name as Redis has it, any bytes

	// Info is what Redis says. Holders and Waiting repeat its holders and its queue, with their clients. From
	// List it has nothing that only the asking client knows, such as Own.
	Info redlatch.Info

	Holders     []Holder            // by the keys of the object, in the order of Info.Holders
	Unconfirmed []UnconfirmedHolder // what entries say and the keys do not
	Waiting     Waiting             // the processes that wait for it
	// the last time in an hour that it was taken away by force; nil: it was not, or this is from List
	Forced     *Forced
	Unreadable []Unreadable // what could not be read about it, so that something may be missing
}

// Holder is the first holder with this identity, nil if there is none. In a group lock an owner has a Holder for
// each of its values.
func (o *Object) Holder(owner string) *Holder {
	for i := range o.Holders {
		if o.Holders[i].Owner == owner {
			return &o.Holders[i]
		}
	}
	return nil
}

// A Holder is one identity that holds, and the process behind it.
type Holder struct {
	redlatch.Holder
	ClientID string  // the uuid of its client; empty where Redis does not say, and no entry either
	Client   *Client // nil: it has no entry in the registry
	// its program has given it back, and [redlatch.WithAtLeast] keeps it for what is left of its TTL at most
	Kept bool

	of *source // nil: Get and List have not made it
}

// Who names the holder's process for people: "web-3 billing pid 17", or "Redisson client <uuid>".
func (h Holder) Who() string { return who(h.Client, h.ClientID) }

// An UnconfirmedHolder is what a client says to hold and Redis does not confirm. Redis keeps no holders of a
// semaphore, so there it is all that is known. Else the client has given it back since its last report, or
// has lost it, or the entry is wrong.
type UnconfirmedHolder struct {
	Client *Client   // which says so
	Owner  string    // the identity; empty where the client does not name it
	Holds  int64     // holds, or permits; 1 for each identity that is named
	Since  time.Time // since when, by its own word
	Side   string    // of a read-write lock: "read" or "write"

	kept bool
}

// Who names the process for people.
func (c UnconfirmedHolder) Who() string { return c.Client.String() }

// Waiting is what is known of the processes that wait for an object.
type Waiting struct {
	// Processes are the clients that wait, or have said so and are silent since (see [Waiter.Silent]): in the
	// order in which they stand in Redis, where they do, and behind them by their time.
	Processes []Waiter

	// Outsiders is how many connections listen for a release that are not known to belong to this library, which
	// is how many clients of Redisson wait. Of a fair lock it is 0, since its waiters are all in Processes. Of a
	// latch or a group lock those of this library count until their entries say that they wait. It is -1 where
	// that cannot be known: waiters of a spin lock listen to nothing.
	Outsiders int64
}

// A Waiter is one client of which calls wait.
type Waiter struct {
	ClientID string    // the uuid of the client
	Client   *Client   // nil: it has no entry in the registry
	Calls    int64     // how many calls; 0 where the client has not said so yet
	Since    time.Time // since when the oldest one waits, or is in the queue; zero where that is not known
	Place    int       // in the queue of processes in Redis, from 1; 0: it is not there, or the kind has none
	Side     string    // of a read-write lock: what the first of them wants, "read" or "write"
	Gone     bool      // it is in the queue and has not asked for so long that the others pass over it
}

// Who names the process for people.
func (w Waiter) Who() string { return who(w.Client, w.ClientID) }

// Silent reports whether its client has not reported for so long that it probably waits no more: what a
// program has said that ended or died while a call waited stays for ten minutes. It takes four reports that
// do not come, so 20 s as a rule and four while a viewer looks (see [Watch]): sooner, all waiters would look
// gone after each outage of a few seconds. Count only waiters that are not silent, and take what a silent one
// has waited for up to its client's Seen.
func (w Waiter) Silent() bool { return w.Client != nil && w.Client.Silent() }

func who(c *Client, id string) string {
	if c == nil {
		return ClientName(id)
	}
	return c.String()
}
