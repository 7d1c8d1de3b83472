package rlock

import (
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

var acquireAll = scripts.Load(folder, "rlock/acquire_all")

// A Want is a lock, the fresh owner that is to hold it, and its lease.
type Want struct {
	Key, Owner string
	Lease      time.Duration
}

// An AttemptAll is the answer to a call that wants several locks.
type AttemptAll struct {
	Held      bool
	Busy      int           // without Held: the place of the first lock that another owner holds
	Remaining time.Duration // until the lease of that one is over; negative when its key has no TTL
}

// AcquireAll takes all locks, as Acquire does, or none of them. Their keys are different, and of one cluster slot.
func AcquireAll(wants []Want) scripts.Command[AttemptAll] {
	keys := make([]string, len(wants))
	args := make([]any, 0, 2*len(wants))
	for i, w := range wants {
		keys[i] = w.Key
		args = append(args, w.Owner, scripts.Milliseconds(w.Lease))
	}
	return scripts.Array(acquireAll, keys, args, func(reply scripts.Reply) (AttemptAll, error) {
		e := reply.Elements()
		busy, remaining := e.Count(0, len(wants)), e.Time()
		if busy == 0 {
			return AttemptAll{Held: true}, e.End()
		}
		return AttemptAll{Busy: busy - 1, Remaining: remaining}, e.End()
	})
}
