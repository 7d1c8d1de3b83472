package sim

import (
	"time"
)

// A Plan is everything that is decided before a run: what there is, who does what, and what goes wrong. It is data, so
// that it can be printed, kept in a file and made smaller.
type Plan struct {
	Seed    uint64   `json:"seed"` // of the delays of the network
	Objects []Object `json:"objects"`
	Clients []Client `json:"clients"`
	Faults  []Fault  `json:"faults,omitempty"`
}

// A Kind is a kind of object.
type Kind string

// The kinds. Ways lists the primitives by which each can be used.
const (
	Lock      Kind = "lock"
	Fenced    Kind = "fenced"
	Fair      Kind = "fair"
	RW        Kind = "rw"
	Multi     Kind = "multi"
	Redlock   Kind = "redlock"
	Semaphore Kind = "semaphore"
	Permits   Kind = "permits"
	Group     Kind = "group"
	Latch     Kind = "latch"
)

// ways are the primitives of a kind that share its keys.
var ways = map[Kind][]string{
	Lock:      {"rlock", "nonreentrant", "spin"},
	Fenced:    {"fenced", "fenced nonreentrant"},
	Fair:      {"fair"},
	RW:        {"write", "read"},
	Multi:     {"multi", "first", "second"},
	Redlock:   {"redlock"},
	Group:     {"group", "first value", "second value"},
	Semaphore: {"semaphore", "semaphore", "semaphore", "semaphore", "semaphore", "add"},
	Permits:   {"permits", "permits", "permits", "permits", "permits", "add"},
	Latch:     {"count", "count", "await"},
}

// An Object is something that clients share.
type Object struct {
	Name         string `json:"name"`
	Kind         Kind   `json:"kind"`
	N            int64  `json:"n,omitempty"` // permits, or the count of a latch
	WritersFirst bool   `json:"writersFirst,omitempty"`
	Clock        bool   `json:"clock,omitempty"` // the tokens of a fenced lock are not below the time
	Mixed        bool   `json:"mixed,omitempty"` // the second member of a multi-lock is a fair lock
}

// A Client is a process with connections of its own.
type Client struct {
	Timeout time.Duration `json:"timeout"` // for an answer
	RESP2   bool          `json:"resp2,omitempty"`
	Workers [][]Step      `json:"workers"` // what each goroutine does, one after the other
}

// A Step is one use of an object, with terms of its own. A duration of 0 leaves the term as the library has it.
type Step struct {
	Think    time.Duration `json:"think"` // before the call
	Object   int           `json:"object"`
	Way      string        `json:"way"`
	Try      bool          `json:"try,omitempty"`
	N        int64         `json:"n,omitempty"` // permits; of "add" how many more, or fewer
	Wait     time.Duration `json:"wait,omitempty"`
	Cancel   time.Duration `json:"cancel,omitempty"` // when the call's context ends
	Lease    time.Duration `json:"lease,omitempty"`
	MaxHold  time.Duration `json:"maxHold,omitempty"`
	Watchdog time.Duration `json:"watchdog,omitempty"`
	AtLeast  time.Duration `json:"atLeast,omitempty"`
	Poll     time.Duration `json:"poll,omitempty"`
	Patience time.Duration `json:"patience,omitempty"`
	BackOff  time.Duration `json:"backOff,omitempty"` // the longest pause
	Prefer   bool          `json:"prefer,omitempty"`  // writers before readers
	Scripted bool          `json:"scripted,omitempty"`
	NoLease  bool          `json:"noLease,omitempty"`
	See      Sight         `json:"see,omitempty"` // when it asks for the ids of what it has
	Hold     time.Duration `json:"hold"`
	Extend   time.Duration `json:"extend,omitempty"` // a new lease, in the middle of the hold
	Leave    bool          `json:"leave,omitempty"`  // instead of Unlock
	Claim    bool          `json:"claim,omitempty"`  // claim the hold's token at the guard
	Write    bool          `json:"write,omitempty"`  // write with the hold's token through the guard
	By       bool          `json:"by,omitempty"`     // claim and write as the owner of the hold
	Hasty    time.Duration `json:"hasty,omitempty"`  // when the context of the write ends
	Late     time.Duration `json:"late,omitempty"`   // write once more, this long after the hold is over
	Inner    *Step         `json:"inner,omitempty"`  // made within the hold, by its context
}

// A Sight is when a step asks for the ids of what it has got.
type Sight string

// The sights. A step without one never asks.
const (
	AtOnce Sight = "at once"
	Midway Sight = "midway"
	Beside Sight = "beside" // while it gives back
	After  Sight = "after"  // when it has given back
)

// A Fault is something that goes wrong. Without a client it concerns the server, or all clients.
type Fault struct {
	At     time.Duration `json:"at"`
	Client int           `json:"client"`           // from 0
	Object int           `json:"object,omitempty"` // of Force and Delete
	fault
}

type fault struct {
	Kind   FaultKind     `json:"kind,omitempty"`
	For    time.Duration `json:"for,omitempty"`
	Server int           `json:"server,omitempty"` // of Down
}

// A FaultKind is a kind of fault.
type FaultKind string

// The faults of one request of a client, the next one after the moment.
const (
	LoseRequest       FaultKind = "lose request" // in silence: the client's timeout ends it
	LoseRequestAndCut FaultKind = "lose request and cut"
	LoseReply         FaultKind = "lose reply"
	LoseReplyAndCut   FaultKind = "lose reply and cut"
	LateRequest       FaultKind = "late request"
	LateReply         FaultKind = "late reply"
	LateCopy          FaultKind = "late copy" // the connection ends, the client sends again, and the first copy comes late
)

// The faults of a client.
const (
	LoseMessages FaultKind = "lose messages"
	Cut          FaultKind = "cut"
	Silence      FaultKind = "silence" // its connections carry nothing more, and neither end is told
	Refuse       FaultKind = "refuse"  // it cannot connect
	Freeze       FaultKind = "freeze"  // nothing arrives meanwhile, and everything afterwards
	Kill         FaultKind = "kill"
	Vanish       FaultKind = "vanish" // killed, and the server's connections to it stay open
)

// The faults of the server.
const (
	Restart FaultKind = "restart" // all connections end, and the scripts are forgotten
	Stop    FaultKind = "stop"    // the server is suspended
	Down    FaultKind = "down"    // a server that is used by redlocks alone is out of reach
	Force   FaultKind = "force"   // the object is force-unlocked
	Delete  FaultKind = "delete"  // its key is deleted
)
