// Package permitsemaphore holds the scripts of the semaphore whose permits have ids and leases: a string
// whose integer is the number of permits available, and a sorted set of the permits taken, from id to
// deadline.
//
// Deadlines come from the server's clock, inside the scripts; no command carries a moment, only durations.
// Every script but Renew first puts back the permits whose deadline has passed, so available and taken add up
// to the number that was set, at any time. A permit whose counter has vanished is nobody's and is never put
// back.
//
// An id is minted for one acquisition and never used again. That makes taking and giving back idempotent by
// itself; the lane of an acquisition is only looked at: a copy of it that may still be on its way is barred
// by lane.Fence. The other operations carry a lane.Call as those of package semaphore do.
package permitsemaphore

import (
	"embed"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// MaxIDs is how many permits one operation may carry. Each is an entry of its own, which the script writes
// one by one while the server does nothing else; ten thousand take it some ten milliseconds.
const MaxIDs = 10_000

// NoExpiry is the lease of a permit that has no deadline.
const NoExpiry time.Duration = -1

//go:embed *.lua
var folder embed.FS

// The prelude permits stands in the same folder and is joined in front of the others. Before it comes which
// key has the permits taken, for the row may be the last.
var (
	permits = scripts.Prelude(folder, "permits.lua")
	plain   = "local taken = KEYS[2]\n" + permits
	laned   = "local taken = KEYS[3]\n" + permits
)

var (
	acquireOne = scripts.Load(folder, "permitsemaphore/acquire", lane.Once,
		scripts.Prelude(folder, "acquire_alone.lua"),
		lane.Settle, row.Announce, laned, unsized, alone)
	acquire     = scripts.Load(folder, "permitsemaphore/acquire", lane.Prelude, row.Announce, laned, unsized, alone)
	wait        = scripts.Load(folder, "permitsemaphore/acquire", lane.Prelude, row.Announce, laned, unsized, row.Wait)
	giveBackOne = scripts.Load(folder, "permitsemaphore/give_back", scripts.Prelude(folder, "give_back_alone.lua"),
		row.Announce, plain)
	giveBack = scripts.Load(folder, "permitsemaphore/give_back", row.Announce, plain)
	swapFew  = scripts.Load(folder, "permitsemaphore/swap", scripts.Prelude(folder, "swap_alone.lua"),
		row.Announce, plain)
	swap        = scripts.Load(folder, "permitsemaphore/swap", row.Announce, plain)
	release     = scripts.Load(folder, "permitsemaphore/release", lane.Prelude, row.Announce, laned)
	renew       = scripts.Load(folder, "permitsemaphore/renew", scripts.Clock, notice.Gone)
	updateLease = scripts.Load(folder, "permitsemaphore/update_lease", lane.Prelude, row.Announce, laned)
	leaseTime   = scripts.Load(folder, "permitsemaphore/lease_time", row.Announce, plain)
	status      = scripts.Load(folder, "permitsemaphore/status", row.Announce, plain)
	inspect     = scripts.Load(folder, "permitsemaphore/inspect", scripts.Clock, plain)
	set         = scripts.Load(folder, "permitsemaphore/set", lane.Prelude, row.Announce, laned)
	alters      = lane.Alters(scripts.Clock + "\n" + laned)
)

// Names are the keys of one semaphore, which are asked for too often to be put together each time.
type Names struct {
	Counter string // of the number of permits available, and the semaphore's own
	Taken   string // of the permits taken
}

// NamesOf are the keys of the semaphore at key.
func NamesOf(key string) Names { return Names{key, keys.PermitTimeouts(key)} }

// plain are the keys of a script that needs two of them, laned those of one that needs three.
func (n Names) plain(wake scripts.Wake) []string { return row.Keys(wake, n.Counter, n.Taken) }

func (n Names) laned(call lane.Call, wake scripts.Wake) []string {
	return row.Keys(wake, n.Counter, call.Key, n.Taken)
}

// Acquire takes a permit for each id, all or none. A repetition finds the ids and leaves their deadlines
// alone.
func Acquire(of Names, ids []string, lease time.Duration, wake scripts.Wake,
	call lane.Call) scripts.Command[lane.Granted] {
	if len(ids) == 1 { // the arguments stay on the stack, if their number is known
		args := []any{call.Lane, call.Seq, wake.Publish, wake.Channel, wake.Row, milliseconds(lease), 1, ids[0]}
		return scripts.Integer(acquireOne, of.laned(call, wake), args, lane.ReadGranted).Needs(3)
	}
	args := []any{call.Lane, call.Seq, wake.Publish, wake.Channel, wake.Row}
	return scripts.Integer(acquire, of.laned(call, wake), wanted(args, ids, lease), lane.ReadGranted).Needs(3)
}

// Wait is Acquire for a caller that waits in a process that has a candidate for the process queue. When the
// command has been executed the candidate stands there if the caller was refused, and does not if it was
// served.
func Wait(of Names, ids []string, lease time.Duration, wake scripts.Wake, candidate row.Candidate,
	call lane.Call) scripts.Command[lane.Granted] {
	args := append([]any{call.Lane, call.Seq}, candidate.Args(wake)...)
	return scripts.Integer(wait, of.laned(call, wake), wanted(args, ids, lease), lane.ReadGranted).Needs(3)
}

// wanted appends what a caller wants to arguments.
func wanted(args []any, ids []string, lease time.Duration) []any {
	return list(append(args, milliseconds(lease), len(ids)), ids)
}

// GiveBackOne is GiveBack for one id whose lease is not over. If it is over when the command is executed, and
// no script has put the permit back yet, the answer is the same as before.
func GiveBackOne(of Names, id string, wake scripts.Wake) scripts.Command[int64] {
	return scripts.Integer(giveBackOne, of.plain(wake), []any{wake.Publish, wake.Channel, wake.Row, id},
		scripts.Int64).Needs(2)
}

// GiveBack releases those of the ids that are there, and answers their number.
func GiveBack(of Names, ids []string, wake scripts.Wake) scripts.Command[int64] {
	return scripts.Integer(giveBack, of.plain(wake), list([]any{wake.Publish, wake.Channel, wake.Row}, ids),
		scripts.Int64).Needs(2)
}

// None is what Swap answers besides row.Kept, row.Renamed, row.Outsiders and 0: none of the old ids was
// there, or no semaphore. They were lost, or an earlier execution has given them back.
const None = -2

// Swapped is the answer of Swap.
type Swapped struct {
	Answer int64
	There  []bool // which of the old ids were there
}

// Swap has permits go from their ids to as many fresh ones, with that lease, and answers row.Kept; a
// repetition answers the same. If anybody but the session waits, or if the semaphore is not there or has
// fewer permits than none, they are given back. With an empty session it looks for nobody, and answers
// row.Renamed. Ids that are not there do not keep the others from that.
func Swap(of Names, ids, fresh []string, session string, lease time.Duration,
	wake scripts.Wake) scripts.Command[Swapped] {
	args := append(make([]any, 0, 6+2*len(ids)), wake.Publish, wake.Channel, wake.Row, session, milliseconds(lease),
		len(ids))
	args = list(list(args, ids), fresh)
	script := swap
	if session == "" && len(ids) <= fewIDs {
		script = swapFew
	}
	if len(ids) == 1 {
		return scripts.Integer(script, of.plain(wake), args, func(reply scripts.Reply) (Swapped, error) {
			return Swapped{Answer: reply.Int, There: []bool{reply.Int != None}}, nil
		}).Needs(2)
	}
	return scripts.Array(script, of.plain(wake), args, func(reply scripts.Reply) (Swapped, error) {
		e := reply.Elements()
		s := Swapped{Answer: e.Number()}
		for range ids {
			s.There = append(s.There, e.Bool())
		}
		return s, e.End()
	}).Needs(2)
}

// fewIDs is how many ids a script names in one command of the server. Lua has no room for as many as one
// wants.
const fewIDs = 500

// Release gives back all ids, or none when one of them is unknown or has expired, and answers which. No id
// may occur twice.
func Release(of Names, ids []string, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(release, of.laned(call, wake), list(call.Args(wake.Publish, wake.Channel, wake.Row), ids),
		scripts.Bool).Needs(3)
}

// A Renewal is the permits of one holder.
type Renewal struct {
	Of    Names
	IDs   []string
	Lease time.Duration // what the deadlines are moved to, never back; 0 only asks whether the permits are there
}

// Renew moves the deadlines of permits of one cluster slot, and answers for each id, of one renewal after the
// other, whether the permit is there.
func Renew(renewals []Renewal) scripts.Command[scripts.Kept] {
	names := make([]string, 0, 3*len(renewals))
	args := []any{len(renewals)}
	total := 0
	for _, r := range renewals {
		names = append(names, r.Of.Counter, r.Of.Taken)
		args = list(append(args, scripts.Milliseconds(r.Lease), len(r.IDs)), r.IDs)
		total += len(r.IDs)
	}
	for _, r := range renewals {
		names = append(names, keys.Forced(r.Of.Counter))
	}
	return scripts.Renewing(renew, names, 2*len(renewals), args, total)
}

// UpdateLease sets the deadlines of all ids, or of none when one of them is unknown or has expired, and
// answers which.
func UpdateLease(of Names, ids []string, lease time.Duration, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(updateLease, of.laned(call, wake),
		list(call.Args(milliseconds(lease), wake.Publish, wake.Channel, wake.Row), ids), scripts.Bool).Needs(3)
}

// A Left is how long a permit lasts.
type Left struct {
	Held bool          // it exists and has not expired
	Time time.Duration // NoExpiry when it has no deadline
}

// LeaseTime reads how long a permit lasts.
func LeaseTime(of Names, id string, wake scripts.Wake) scripts.Command[Left] {
	return scripts.Integer(leaseTime, of.plain(wake), []any{wake.Publish, wake.Channel, wake.Row, id},
		func(reply scripts.Reply) (Left, error) {
			switch reply.Int {
			case -2:
				return Left{}, nil
			case -1:
				return Left{Held: true, Time: NoExpiry}, nil
			}
			left, err := scripts.Time(reply.Int)
			return Left{Held: err == nil, Time: left}, err
		}).Needs(2)
}

// A Count is how the permits are shared out. Available is below 0 when more are taken than there are to be.
type Count struct {
	Available, Acquired int64
	Exists              bool
}

// Status counts the permits, both 0 when there is no semaphore.
func Status(of Names, wake scripts.Wake) scripts.Command[Count] {
	return scripts.Array(status, of.plain(wake), []any{wake.Publish, wake.Channel, wake.Row},
		func(reply scripts.Reply) (c Count, err error) {
			e := reply.Elements()
			return Count{Available: e.Number(), Acquired: e.Number(), Exists: e.Bool()}, e.End()
		}).Needs(2)
}

// TrySet sets the number of permits of a semaphore that does not exist, with a TTL unless ttl is 0, and
// answers whether it did.
func TrySet(of Names, n int64, ttl time.Duration, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(set, of.laned(call, wake), settings(n, wake, call, "try", ttl), scripts.Bool).Needs(3)
}

// Set makes the number of permits n, those taken included, and answers whether it was another.
func Set(of Names, n int64, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(set, of.laned(call, wake), settings(n, wake, call, "set", 0), scripts.Bool).Needs(3)
}

// Add changes the number of permits by d and answers the new number, those taken included.
func Add(of Names, d int64, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return scripts.Integer(set, of.laned(call, wake), settings(d, wake, call, "add", 0), scripts.Int64).Needs(3)
}

func settings(n int64, wake scripts.Wake, call lane.Call, how string, ttl time.Duration) []any {
	return call.Args(n, wake.Publish, wake.Channel, wake.Row, how, scripts.Milliseconds(ttl))
}

// Delete removes the semaphore with its permits and answers whether there was one.
func Delete(of Names, call lane.Call) scripts.Command[bool] {
	return alters.Delete(of.laned(call, scripts.Wake{}), call)
}

// Expire sets the TTL of the semaphore and answers whether there is one.
func Expire(of Names, ttl time.Duration, call lane.Call) scripts.Command[bool] {
	return alters.Expire(of.laned(call, scripts.Wake{}), ttl, call)
}

// Persist removes the TTL and answers whether there was one.
func Persist(of Names, call lane.Call) scripts.Command[bool] {
	return alters.Persist(of.laned(call, scripts.Wake{}), call)
}

// milliseconds is a lease as the scripts take it.
func milliseconds(lease time.Duration) int64 {
	if lease == NoExpiry {
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
