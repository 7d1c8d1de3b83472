package baselock

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Kind is what one primitive adds to the base: the scripts that every lock has, and what only some locks
// can do. Each of these abilities is nil where the lock does not have it.
type Kind struct {
	Label     redlatch.Kind
	Takes     settings.Option // the options that make sense
	Reentrant bool

	Acquire func(Subject) scripts.Command[scripts.Attempt]
	Recount func(Subject) scripts.Command[bool] // re-entry, partial release, settling: never creates
	Release func(Subject) scripts.Command[bool] // of all holds of the owner, whatever their number
	Force   func(Subject) scripts.Command[bool]
	Status  func(Subject) scripts.Command[scripts.Status]
	Inspect func(key string) scripts.Command[scripts.State]
	Renew   func([]scripts.Renewal) scripts.Command[scripts.Kept]
	Batch   string // kinds whose owners may be renewed by one script share it

	Channel func(key string) string                       // where releases are announced; nil: waiters poll
	Pace    func(*settings.Settings) func() time.Duration // and makes the sleeps of one who does

	// HandsOn says that a holder may hand the lock on to the next waiter of its process. A release of another
	// lock wakes all.
	HandsOn bool

	// Atomic releases the lock of one owner and acquires it for another of the same process, in one script;
	// nil where an owner that cannot be followed without a command is released.
	Atomic func(from, to Subject) scripts.Command[scripts.Attempt]

	// Queued are the waiters of a fair lock, in the order in which Redis serves them.
	Queued func(key string) scripts.Command[[]string]

	Ways    Ways    // never nil
	Sharing Sharing // nil: each hold is a holder of its own to Redis

	Queue  *Queue
	Tokens *Tokens
	Side   *Side // never nil
}

// A Queue is the scripts of a lock with a process queue.
type Queue struct {
	// Keys are the keys that the scripts touch for the queue. The first of them is the queue.
	Keys func(key string) []string

	// Tells says that no script hands the lock to a process. A script tells the process whose turn it is that
	// it can have the lock, and the process asks.
	Tells bool

	// Orders says, of a queue that Tells, that a release puts the candidate of its own process behind those
	// of the others. A message on the wake channel that begins with a zero is then for listeners outside the
	// queue only.
	Orders bool

	// Enqueue is Acquire for an owner that stands in the queue when it is refused.
	Enqueue func(s Subject, queue []string, patience time.Duration, looks bool) scripts.Command[row.Answer]

	// HandOff is Release for the first in the queue.
	HandOff func(s Subject, turn row.Turn) scripts.Command[row.Release]
}

// Tokens are for a lock that issues fencing tokens.
type Tokens struct {
	Key     func(key string) string // that of their counter
	Reenter func(Subject) scripts.Command[scripts.Attempt]
}

// A Side is one of several locks with one key: a side of a read-write lock, or a set of fields; see sides.go.
type Side struct {
	Name   string        // tells it from the others
	Cohort string        // in which those of one process wait, and those of other sides with the same
	Queued redlatch.Kind // as which the registry has the calls that wait; empty: that of the lock
	// Several owners may hold at once, so after one got in the next of the local queue asks at once.
	Shared bool

	Includes func(side string) bool // nil, or tells whether an owner that holds this side also holds the other one

	// What a read-write lock adds.
	Field    string                                  // what follows the owner in the name of its field
	Within   string                                  // the side whose hold, in the context, admits this side beside it
	Barred   string                                  // the side whose hold, in the context, makes asking hopeless
	Bar      error                                   // and what is said then
	Of       func(field string) (owner, side string) // nil, or tells whose field it is
	Withdraw func(Subject) scripts.Command[bool]     // nil, or takes back what a waiter has announced

	// Turn releases the lock of one owner and acquires it for another of the same process on the other side,
	// in one script.
	Turn func(from, to Subject) scripts.Command[scripts.Attempt]
}

// OneSided is the side of a lock that has its key for itself.
var OneSided = &Side{}

// Moves tells whether a tenure of this kind is nothing but its field: it has no token, place in a queue, or
// other side.
func (k *Kind) Moves() bool { return k.Tokens == nil && k.Queued == nil && k.Side == OneSided }

// A Subject is what a script is about.
type Subject struct {
	Key   string
	Owner string // empty where the script is about the lock as such
	Holds int    // the count that the owner is to have
	Most  int    // the most holds it may ever have had in Redis, this script included
	// The last that the owner has, 0 where there is none; of a re-entry the least that it may issue.
	Token  int64
	Block  int64         // how many tokens an owner that is handed the lock is to have
	Clock  bool          // its tokens are the server's time at least
	Lease  time.Duration // 0 for renewals that only check; those of a shared lock check with what is still promised
	Tokens string        // the key of their counter, empty where there is none
	Wake   scripts.Wake

	Listening int // how many connections of this process listen to the wake channel

	Host     string        // the field within which an acquisition is made; empty: none
	Session  string        // who announces that it waits
	Announce time.Duration // for how long; 0: not at all

	Patience time.Duration // of an owner who waits in a queue in Redis
}

// LockOptions are the options that every lock takes.
const LockOptions = settings.Lease | settings.MaxHold | settings.Wait | settings.WatchdogTimeout | settings.Replicas |
	settings.AtLeast |
	settings.LongHold
