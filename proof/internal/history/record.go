package history

import "math"

// A Time is a moment of the clock that all journals of a run share, in nanoseconds.
type Time int64

// Never is after every other moment.
const Never Time = math.MaxInt64

// What says what a record is about.
type What string

// The records of an operation. They have the client and the number of the operation in common.
const (
	Call    What = "call"    // it is about to be called
	Got     What = "got"     // it returned with what was asked for
	Refused What = "refused" // it returned, and said that somebody else has it, or that there is not enough
	Failed  What = "failed"  // it returned with another error, and has not happened
	Doubt   What = "doubt"   // it returned with another error, and may have happened
	Valid   What = "valid"   // Hold.Valid said true; the moment is a reading of the clock from before the question
	Told    What = "told"    // the context of the hold has ended with a loss, or it ended without being given back for certain
	Lost    What = "lost"    // the release said that the hold had been lost
	Named   What = "named"   // the program was told the id of the hold that is in Text
	Leave   What = "leave"   // Unlock or Release is about to be called
	Left    What = "left"    // it returned, and the hold is given back
	Unsure  What = "unsure"  // it returned with an error: the hold may or may not be given back
)

// The records of what is done to processes and objects.
const (
	Object  What = "object"  // declares an object: its kind, number and bound
	Suspend What = "suspend" // the client's process is suspended, or its network is cut
	Resume  What = "resume"
	Kill    What = "kill"    // the client's process is killed
	Late    What = "late"    // a request of the client for the object was executed long after it was sent, or when the client had been killed
	Outside What = "outside" // an act that the promises exclude: force, deletion, eviction, failover with loss of data
	Heard   What = "heard"   // the message of such an act has reached the client
	Broken  What = "broken"  // the run itself is wrong, and proves nothing
	Final   What = "final"   // what the server says of the object when all is over
	Stands  What = "stands"  // when all is over this write is in the data, behind the writes of the records before
)

// A Mode is what an operation asks of its object.
type Mode string

// The modes.
const (
	Exclusive Mode = "exclusive" // a lock, or the write side of one
	Shared    Mode = "shared"    // the read side of a lock
	Permits   Mode = "permits"   // N permits of a semaphore
	Add       Mode = "add"       // N permits more, or fewer
	CountDown Mode = "countdown" // one off the count of a latch
	Await     Mode = "await"     // until a latch is open
	Write     Mode = "write"     // a write with the Token, through a guard
)

// A Lane is the part of a run that an object belongs to.
type Lane string

// The lanes. Nothing is done to the server and the clients of the calm one: when it stalls, the machine was too busy for
// the run to say anything about liveness.
const (
	Faulty Lane = ""
	Calm   Lane = "calm"
)

// A Record is one line of a journal.
type Record struct {
	At     Time   `json:"at"`
	What   What   `json:"what"`
	Client string `json:"client,omitempty"`
	Op     int64  `json:"op,omitempty"` // numbered from 1 by each client
	Object string `json:"object,omitempty"`
	Mode   Mode   `json:"mode,omitempty"`

	Within int64  `json:"within,omitempty"` // of a call: the operation whose context it is made with, 0 for none
	Try    bool   `json:"try,omitempty"`    // of a call: it does not wait
	N      int64  `json:"n,omitempty"`      // permits, or 1 for a write that leaves something; of Object the permits or the count; of Final what is there
	Token  int64  `json:"token,omitempty"`  // of Got the one that was issued; of a call the one that is written with
	Lease  Time   `json:"lease,omitempty"`  // of a call: how long the hold may outlast its client, from its last renewal
	Most   Time   `json:"most,omitempty"`   // of a call: how long its caller may believe in the hold; 0: no limit
	Least  Time   `json:"least,omitempty"`  // of a call: for how long from the call on its hold cannot run out; 0: it is not known
	Asks   bool   `json:"asks,omitempty"`   // of a call: the server is asked, so what it gets was not handed on within its process
	Bound  Time   `json:"bound,omitempty"`  // of Object: how long it may be free while somebody waits for it
	Fair   bool   `json:"fair,omitempty"`   // of Object: it is given in the order of Queued
	Lane   Lane   `json:"lane,omitempty"`   // of Object
	Queued Time   `json:"queued,omitempty"` // of Got: when the waiter was seen in the queue; 0 if it was not
	From   Time   `json:"from,omitempty"`   // of Outside: when the act began; it had its effect between then and At. Of Late: when it was sent
	Loss   bool   `json:"loss,omitempty"`   // of Outside: the server may have lost what it had acknowledged
	Text   string `json:"text,omitempty"`   // an error, for the reader; of Named the id
}
