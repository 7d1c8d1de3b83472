// Package countdownlatch holds the scripts of the count-down latch: a string whose integer is what is still to be
// counted. A latch that does not exist is open; one that reaches zero is deleted.
//
// Everything that changes the latch carries a lane.Call and takes effect once; lane.Fence settles what was given up.
// The messages are "1" when a count was set and "0" when the latch opens, by counting or by deletion. Redisson
// publishes "1" at a deletion too and leaves its waiters asleep; with "0" they look again and find the latch open.
// A message that the server refuses, to a user who may not publish, counts as lost: an error would say that nothing was
// changed.
package countdownlatch

import (
	"embed"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

//go:embed *.lua
var folder embed.FS

var (
	trySetCount = scripts.Load(folder, "countdownlatch/try_set_count", lane.Prelude, lane.Value)
	countDown   = scripts.Load(folder, "countdownlatch/count_down", lane.Prelude, lane.Value)
	count       = scripts.Load(folder, "countdownlatch/count", lane.Value)
	remove      = scripts.Load(folder, "countdownlatch/delete", lane.Prelude, lane.Value)
)

// TrySetCount sets the count, 1 or more, of a latch that does not exist, with a TTL unless ttl is 0, and answers
// whether it did.
func TrySetCount(key string, n int64, ttl time.Duration, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	args := []any{call.Lane, call.Seq, n, scripts.Milliseconds(ttl), wake.Publish, wake.Channel}
	return scripts.Integer(trySetCount, []string{key, call.Key}, args, scripts.Bool)
}

// CountDown takes one from the count and answers what remains; at zero the latch opens and is deleted. Nothing
// happens to a latch that does not exist, and 0 remains.
func CountDown(key string, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	args := []any{call.Lane, call.Seq, wake.Publish, wake.Channel}
	return scripts.Integer(countDown, []string{key, call.Key}, args, scripts.Int64)
}

// Count answers what is still to be counted: 0 when the latch is open.
func Count(key string) scripts.Command[int64] {
	return scripts.Integer(count, []string{key}, nil, scripts.Int64)
}

// Delete removes the latch, which opens it for all who wait, and answers whether there was one.
func Delete(key string, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return scripts.Integer(remove, call.Keys(key), call.Args(wake.Publish, wake.Channel), scripts.Bool)
}
