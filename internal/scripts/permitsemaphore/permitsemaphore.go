// Package permitsemaphore holds the scripts of the semaphore whose permits have ids and leases: a string whose integer
// is the number of permits available, and a sorted set of the permits taken, from id to deadline.
//
// Deadlines come from the server's clock, inside the scripts; no command carries a moment, only durations. Every script
// but Renew first puts back the permits whose deadline has passed, so available and taken add up to the number that
// was set, at any time. A permit whose counter has vanished is nobody's and is never put back.
//
// An id is minted for one acquisition and never used again. That makes taking and giving back idempotent by itself; the
// lane of an acquisition is only looked at: a copy of it that may still be on its way is barred by lane.Fence. The other
// operations carry a lane.Call as those of package semaphore do.
package permitsemaphore

import (
	"embed"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// The limits of one operation. Each permit is an entry of its own, which the script writes one by one while the server
// does nothing else; ten thousand take it some ten milliseconds. The number of permits is an int in Redisson.
const (
	MaxIDs     = 10_000
	MaxPermits = 1<<31 - 1
)

// NoLease is the lease of a permit that has no deadline.
const NoLease time.Duration = -1

//go:embed *.lua
var folder embed.FS

// prelude stands in the same folder and is joined in front of the others.
var prelude = func() string {
	source, err := folder.ReadFile("permits.lua")
	if err != nil {
		panic("redlatch: a prelude is not embedded: " + err.Error())
	}
	return string(source)
}()

var (
	acquire     = scripts.Load(folder, "permitsemaphore/acquire", lane.Prelude, prelude)
	giveBack    = scripts.Load(folder, "permitsemaphore/give_back", prelude)
	release     = scripts.Load(folder, "permitsemaphore/release", lane.Prelude, prelude)
	renew       = scripts.Load(folder, "permitsemaphore/renew")
	updateLease = scripts.Load(folder, "permitsemaphore/update_lease", lane.Prelude, prelude)
	leaseTime   = scripts.Load(folder, "permitsemaphore/lease_time", prelude)
	status      = scripts.Load(folder, "permitsemaphore/status", prelude)
	trySet      = scripts.Load(folder, "permitsemaphore/try_set", lane.Prelude, prelude)
	set         = scripts.Load(folder, "permitsemaphore/set", lane.Prelude, prelude)
	add         = scripts.Load(folder, "permitsemaphore/add", lane.Prelude, prelude)
	remove      = scripts.Load(folder, "permitsemaphore/delete", lane.Prelude, prelude)
	expire      = scripts.Load(folder, "permitsemaphore/expire", lane.Prelude, prelude)
	persist     = scripts.Load(folder, "permitsemaphore/persist", lane.Prelude, prelude)
)

// acquired is what acquire.lua answers when the permits are taken.
const acquired = -3

// Acquire takes a permit for each id, all or none. The answer's Remaining is the time until the next deadline of a
// permit that somebody has, negative when there is none. A repetition finds the ids and leaves their deadlines alone.
func Acquire(key string, ids []string, lease time.Duration, wake scripts.Wake, call lane.Call) scripts.Command[scripts.Attempt] {
	return scripts.Integer(acquire, laned(key, call),
		list(call.Args(milliseconds(lease), wake.Publish, wake.Channel), ids),
		func(reply scripts.Reply) (scripts.Attempt, error) {
			if reply.Int == acquired {
				return scripts.Attempt{Held: true}, nil
			}
			return scripts.Attempt{Remaining: time.Duration(reply.Int) * time.Millisecond}, nil
		})
}

// GiveBack releases those of the ids that are there, and answers their number.
func GiveBack(key string, ids []string, wake scripts.Wake) scripts.Command[int64] {
	return scripts.Integer(giveBack, plain(key), list([]any{wake.Publish, wake.Channel}, ids), scripts.Int64)
}

// Release gives back all ids, or none when one of them is unknown or has expired, and answers which. No id may occur
// twice.
func Release(key string, ids []string, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(release, laned(key, call), list(call.Args(wake.Publish, wake.Channel), ids), scripts.Bool)
}

// A Renewal is the permits of one holder.
type Renewal struct {
	Key   string
	IDs   []string
	Lease time.Duration // what the deadlines are moved to, never back; 0 only asks whether the permits are there
}

// Renew moves the deadlines of permits of one cluster slot, and answers for each renewal and id whether the permit is
// there.
func Renew(renewals []Renewal) scripts.Command[[][]bool] {
	names := make([]string, 0, 2*len(renewals))
	var args []any
	total := 0
	for _, r := range renewals {
		names = append(names, plain(r.Key)...)
		args = list(append(args, scripts.Milliseconds(r.Lease), len(r.IDs)), r.IDs)
		total += len(r.IDs)
	}
	return scripts.Array(renew, names, args, func(reply scripts.Reply) ([][]bool, error) {
		if len(reply.List) != total {
			return nil, fmt.Errorf("answered for %d of %d permits", len(reply.List), total)
		}
		alive, rest := make([][]bool, len(renewals)), reply.List
		for i, r := range renewals {
			alive[i] = make([]bool, len(r.IDs))
			for j := range r.IDs {
				one, err := scripts.Number(rest[j])
				if err != nil {
					return nil, err
				}
				alive[i][j] = one == 1
			}
			rest = rest[len(r.IDs):]
		}
		return alive, nil
	})
}

// UpdateLease sets the deadlines of all ids, or of none when one of them is unknown or has expired, and answers which.
func UpdateLease(key string, ids []string, lease time.Duration, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(updateLease, laned(key, call),
		list(call.Args(milliseconds(lease), wake.Publish, wake.Channel), ids), scripts.Bool)
}

// A Left is how long a permit lasts.
type Left struct {
	Held bool          // it exists and has not expired
	Time time.Duration // NoLease when it has no deadline
}

// LeaseTime reads how long a permit lasts.
func LeaseTime(key, id string, wake scripts.Wake) scripts.Command[Left] {
	return scripts.Integer(leaseTime, plain(key), []any{wake.Publish, wake.Channel, id}, func(reply scripts.Reply) (Left, error) {
		switch reply.Int {
		case -2:
			return Left{}, nil
		case -1:
			return Left{Held: true, Time: NoLease}, nil
		}
		return Left{Held: true, Time: time.Duration(reply.Int) * time.Millisecond}, nil
	})
}

// A Count is how the permits are shared out. Available is below 0 when more are taken than there are to be.
type Count struct{ Available, Acquired int64 }

// Status counts the permits, both 0 when there is no semaphore.
func Status(key string, wake scripts.Wake) scripts.Command[Count] {
	return scripts.Array(status, plain(key), []any{wake.Publish, wake.Channel}, func(reply scripts.Reply) (c Count, err error) {
		if len(reply.List) != 2 {
			return c, fmt.Errorf("answered %d elements where two counts were expected", len(reply.List))
		}
		if c.Available, err = scripts.Number(reply.List[0]); err != nil {
			return c, err
		}
		c.Acquired, err = scripts.Number(reply.List[1])
		return c, err
	})
}

// TrySet sets the number of permits of a semaphore that does not exist, with a TTL unless ttl is 0, and answers
// whether it did.
func TrySet(key string, n int64, ttl time.Duration, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(trySet, laned(key, call),
		call.Args(n, scripts.Milliseconds(ttl), wake.Publish, wake.Channel), scripts.Bool)
}

// Set makes the number of permits n, those taken included, and answers whether it was another.
func Set(key string, n int64, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(set, laned(key, call), call.Args(n, wake.Publish, wake.Channel), scripts.Bool)
}

// Add changes the number of permits by d and answers the new number, those taken included.
func Add(key string, d int64, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return scripts.Integer(add, laned(key, call), call.Args(d, wake.Publish, wake.Channel), scripts.Int64)
}

// Delete removes the semaphore with its permits and answers whether there was one.
func Delete(key string, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(remove, laned(key, call), call.Args(), scripts.Bool)
}

// Expire sets the TTL of the semaphore and answers whether there is one.
func Expire(key string, ttl time.Duration, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(expire, laned(key, call), call.Args(scripts.Milliseconds(ttl)), scripts.Bool)
}

// Persist removes the TTL and answers whether there was one.
func Persist(key string, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(persist, laned(key, call), call.Args(), scripts.Bool)
}

func plain(key string) []string { return []string{key, keys.PermitTimeouts(key)} }

func laned(key string, call lane.Call) []string {
	return append(call.Keys(key), keys.PermitTimeouts(key))
}

// milliseconds is a lease as the scripts take it.
func milliseconds(lease time.Duration) int64 {
	if lease == NoLease {
		return -1
	}
	return scripts.Milliseconds(lease)
}

// list appends ids to arguments. They travel as they are stored, 16 bytes each.
func list(args []any, ids []string) []any {
	for _, id := range ids {
		args = append(args, id)
	}
	return args
}
