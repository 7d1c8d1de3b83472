// Package semaphore holds the scripts of the semaphore: a string whose integer is the number of permits
// available. A semaphore that does not exist has none. It has no owners; only absence means that it was never
// set.
//
// Everything that changes the number carries a lane.Call and takes effect once. Every operation keeps the
// key's TTL: the number is changed by INCRBY and DECRBY, never by SET. A number that would leave the range of
// 64 bits, or a value that is not an integer, is an error that changes nothing.
//
// Raises are announced with the new total, which is what Redisson's waiters expect; totals of 0 and below are
// not, for they wake nobody and Redisson's waiters raise at negative ones. A message that the server refuses,
// to a user who may not publish, counts as lost: an error would say that nothing was changed.
package semaphore

import (
	"embed"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

//go:embed *.lua
var folder embed.FS

var (
	raise   = scripts.Prelude(folder, "raise.lua")
	swift   = scripts.Prelude(folder, "acquire_alone.lua")
	acquire = scripts.Load(folder, "semaphore/acquire", lane.Once, lane.Value, swift, lane.Settle, row.Announce,
		unsized, alone)
	wait = scripts.Load(folder, "semaphore/acquire", lane.Prelude, lane.Value, row.Announce, unsized,
		row.Wait)
	release = scripts.Load(folder, "semaphore/release", lane.Once,
		scripts.Prelude(folder, "release_alone.lua"), lane.Settle, row.Announce, raise)
	yield         = scripts.Load(folder, "semaphore/release", lane.Prelude, row.Announce, raise)
	keep          = scripts.Load(folder, "semaphore/keep", lane.Prelude, row.Announce, raise)
	trySet        = scripts.Load(folder, "semaphore/try_set", lane.Prelude, lane.Value, row.Announce)
	add           = scripts.Load(folder, "semaphore/add", lane.Prelude, row.Announce)
	drain         = scripts.Load(folder, "semaphore/drain", lane.Prelude, lane.Value)
	cancelAcquire = scripts.Load(folder, "semaphore/cancel_acquire", lane.Prelude, row.Announce, raise)
)

// Acquire has a caller get n permits, 1 or more, if so many are left.
func Acquire(key string, n int64, call lane.Call) scripts.Command[lane.Granted] {
	return scripts.Integer(acquire, []string{key, call.Key}, []any{call.Lane, call.Seq, n, 0}, lane.ReadGranted)
}

// Wait is Acquire for a caller that waits in a process that has a candidate for the process queue. When the
// command has been executed the candidate stands there if the caller was refused, and does not if it was
// served. A caller that is served takes up to so many permits beside, for the calls of its process that wait
// behind it and want n each.
func Wait(key string, n, beside int64, wake scripts.Wake, candidate row.Candidate,
	call lane.Call) scripts.Command[lane.Granted] {
	args := append(append([]any{call.Lane, call.Seq}, candidate.Args(wake)...), n, beside)
	return scripts.Integer(wait, row.Keys(wake, key, call.Key), args, lane.ReadGranted).Needs(2)
}

// CancelAcquire settles an Acquire of n whose outcome is unknown and which has the sequence number before the
// call's: if it took effect its permits are given back and announced, and it cannot take effect later. It
// answers what the Acquire had answered, and 0 if it had no effect. A semaphore that was deleted meanwhile
// took the permits with it and is not brought back.
func CancelAcquire(key string, n int64, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return change(cancelAcquire, key, n, wake, call, scripts.Int64)
}

// change is a script that is told of n permits, and announces some.
func change[R any](script *scripts.Script, key string, n int64, wake scripts.Wake, call lane.Call,
	decode func(scripts.Reply) (R, error)) scripts.Command[R] {
	args := []any{call.Lane, call.Seq, n, wake.Publish, wake.Channel, wake.Row}
	return scripts.Integer(script, row.Keys(wake, key, call.Key), args, decode).Needs(2)
}

// Release gives back n permits, creating the semaphore if it does not exist.
func Release(key string, n int64, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return change(release, key, n, wake, call, scripts.Bool)
}

// Keep gives back n permits, unless nobody but the session waits for some, and answers row.Kept or not. Those
// of a semaphore that is not there, or has fewer than 0 permits, are given back too.
func Keep(key string, n int64, session string, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return keepBy(keep, key, n, session, wake, call)
}

// keepBy is Keep or Yield, which the last argument of the script tells apart.
func keepBy(script *scripts.Script, key string, n int64, last any, wake scripts.Wake,
	call lane.Call) scripts.Command[int64] {
	args := []any{call.Lane, call.Seq, n, wake.Publish, wake.Channel, wake.Row, last}
	return scripts.Integer(script, row.Keys(wake, key, call.Key), args, scripts.Int64).Needs(2)
}

// Yield settles a Keep of n permits whose outcome is unknown and which has the sequence number before the
// call's: if that has not given them back they are given back now, and it cannot take effect later.
func Yield(key string, n int64, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return keepBy(yield, key, n, row.Kept, wake, call)
}

// TrySet sets the number of permits of a semaphore that does not exist, with a TTL unless ttl is 0, and
// answers whether it did. A semaphore with 0 permits exists.
func TrySet(key string, n int64, ttl time.Duration, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	args := call.Args(n, wake.Publish, wake.Channel, wake.Row)
	if ttl != 0 {
		args = append(args, "px", scripts.Milliseconds(ttl))
	}
	return scripts.Integer(trySet, row.Keys(wake, key, call.Key), args, scripts.Bool).Needs(2)
}

// Add changes the number of permits by d, which may be negative and leave fewer than none, and answers the
// new total.
func Add(key string, d int64, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return change(add, key, d, wake, call, scripts.Int64)
}

// Drain takes all permits and answers their number; none are left. As with the semaphores of Java and
// Redisson, a negative number is forgiven: it is answered, and the semaphore stands at 0.
func Drain(key string, call lane.Call) scripts.Command[int64] {
	return scripts.Integer(drain, call.Keys(key), call.Args(), scripts.Int64)
}

// Delete removes the semaphore and answers whether there was one. It tells no waiter: none can go on.
func Delete(key string, call lane.Call) scripts.Command[bool] {
	return lane.Counter.Delete(call.Keys(key), call)
}

// Expire sets the TTL and answers whether there is a semaphore.
func Expire(key string, ttl time.Duration, call lane.Call) scripts.Command[bool] {
	return lane.Counter.Expire(call.Keys(key), ttl, call)
}

// Persist removes the TTL and answers whether there was one.
func Persist(key string, call lane.Call) scripts.Command[bool] {
	return lane.Counter.Persist(call.Keys(key), call)
}
