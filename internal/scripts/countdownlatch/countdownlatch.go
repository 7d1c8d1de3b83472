// Package countdownlatch holds the scripts of the count-down latch: a string whose integer is what is still
// to be counted. A latch that does not exist is open; one that reaches zero is deleted.
//
// Everything that changes the latch carries a lane.Call and takes effect once; lane.Fence settles what was
// given up. The messages are "1" when a count was set and "0" when the latch opens, by counting or by
// deletion. Redisson publishes "1" at a deletion too and leaves its waiters asleep; with "0" they look again
// and find the latch open. A message that the server refuses, to a user who may not publish, counts as lost:
// an error would say that nothing was changed.
//
// Why a latch is open, the key of the latch cannot say. A record beside it, which Redisson does not know,
// says it: see rounds.lua for what it holds, and State.For for what follows from it.
package countdownlatch

import (
	"embed"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

//go:embed *.lua
var folder embed.FS

// rounds stands in the same folder and is joined in front of the others.
var rounds = scripts.Clock + "\n" + scripts.Prelude(folder, "rounds.lua")

var (
	trySetCount = scripts.Load(folder, "countdownlatch/try_set_count", lane.Prelude, lane.Value, rounds)
	countDown   = scripts.Load(folder, "countdownlatch/count_down", lane.Once,
		scripts.Prelude(folder, "count_down_alone.lua"), lane.Settle,
		lane.Value, rounds)
	await  = scripts.Load(folder, "countdownlatch/await", lane.Value, scripts.Clock)
	remove = scripts.Load(folder, "countdownlatch/delete", lane.Prelude, lane.Value, rounds)
)

// Names are the keys of one latch, which are asked for too often to be put together each time.
type Names struct {
	Latch  string // of the count, and the latch's own
	Record string
}

// NamesOf are the keys of the latch at key.
func NamesOf(key string) Names { return Names{key, keys.LatchRecord(key)} }

func (n Names) laned(call lane.Call) []string { return []string{n.Latch, call.Key, n.Record} }

// NewEpoch draws an epoch for a record that is to be made.
func NewEpoch() int64 { return rand.Int64() }

// TrySetCount sets the count, 1 or more, of a latch that does not exist, with a TTL unless ttl is 0, and
// answers whether it did.
func TrySetCount(of Names, n int64, ttl time.Duration, epoch int64, wake scripts.Wake,
	call lane.Call) scripts.Command[bool] {
	args := []any{call.Lane, call.Seq, n, scripts.Milliseconds(ttl), wake.Publish, wake.Channel, epoch}
	return scripts.Integer(trySetCount, of.laned(call), args, scripts.Bool)
}

// CountDown takes n, 1 or more, from the count and answers what remains; at zero the latch opens and is
// deleted, also if n is more than the count. Nothing happens to a latch that does not exist, and 0 remains.
func CountDown(of Names, n int64, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	args := []any{call.Lane, call.Seq, wake.Publish, wake.Channel, n}
	return scripts.Integer(countDown, of.laned(call), args, scripts.Int64)
}

// Count answers what is still to be counted: 0 when the latch is open. Another program may have stored 0 or
// less.
func Count(key string) scripts.Command[int64] {
	return scripts.Map(lane.Read(key), func(n int64) int64 { return max(n, 0) })
}

// Await answers what a waiter has to know that has seen so much.
func Await(of Names, seen Seen) scripts.Command[State] {
	epoch := "" // the record of a round of this library has one, unless it was lost
	if seen.Round == "" || seen.Round == Foreign {
		epoch = strconv.FormatInt(NewEpoch(), 10)
	}
	return scripts.Array(await, []string{of.Latch, of.Record}, []any{epoch}, stateOf)
}

// Delete removes the latch, which opens it for all who wait, and answers whether there was one.
func Delete(of Names, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(remove, of.laned(call), call.Args(wake.Publish, wake.Channel), scripts.Bool)
}
