package semaphore

import (
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// What follows is for a semaphore that knows its size. Where there is none, an acquisition sets it up, and a
// release does nothing: the semaphore comes back whole, with the next acquisition.

// The lines in place of the preludes size and wait say that the number of permits was not given, and that the
// caller does not wait: then the arguments of the acquisition begin with the third, and there is no row to
// stand in.
const (
	unsized = "local size, made, publish, channel, line"
	alone   = "local first, wait = 3"
)

// A caller that is alone is served by acquire_alone, unless there is no semaphore or one with more permits
// than it is to have. A release ends where there is no semaphore; one that a later call settles says so in its
// lane.
var (
	size      = scripts.Prelude(folder, "size.lua")
	sizedOnly = "if value and tonumber(value) <= tonumber(ARGV[#ARGV - 1]) then\n" +
		swift + "\nend"
	thereOnly = "if redis.call('exists', KEYS[1]) == 1 then\n" + scripts.Prelude(folder, "release_alone.lua") + "\nend"
	there     = "if redis.call('exists', KEYS[1]) == 0 then\n  return replica() or 0\nend"
	thereYet  = "if redis.call('exists', KEYS[1]) == 0 then\n  return settle('0')\nend"
)

var (
	acquireSized = scripts.Load(folder, "semaphore/acquire", lane.Once, lane.Value, sizedOnly, lane.Settle,
		row.Announce, size, alone)
	waitSized       = scripts.Load(folder, "semaphore/acquire", lane.Prelude, lane.Value, row.Announce, size, row.Wait)
	addSized        = scripts.Load(folder, "semaphore/add", lane.Prelude, lane.Value, row.Announce, size)
	drainSized      = scripts.Load(folder, "semaphore/drain", lane.Prelude, lane.Value, row.Announce, size)
	releaseIfExists = scripts.Load(folder, "semaphore/release", lane.Once, thereOnly, lane.Settle, there, row.Announce,
		raise)
	yieldSized = scripts.Load(folder, "semaphore/release", lane.Prelude, thereYet, row.Announce, raise)
	keepSized  = scripts.Load(folder, "semaphore/keep", lane.Prelude, thereYet, row.Announce, raise)
)

// AcquireSized is Acquire, or Wait if there is a candidate, of a semaphore that it sets up if it is not
// there.
func AcquireSized(key string, n, beside int64, size lane.Size, wake scripts.Wake, candidate row.Candidate,
	call lane.Call) scripts.Command[lane.Granted] {
	script, args := acquireSized, []any{call.Lane, call.Seq}
	if candidate.ID != "" {
		script, args = waitSized, append(args, candidate.Args(wake)...)
	}
	args = sized(append(args, n, beside), size, wake)
	return scripts.Integer(script, row.Keys(wake, key, call.Key), args, lane.ReadGranted).Needs(2)
}

// AddSized is Add for a semaphore that it sets up before if it is not there.
func AddSized(key string, d int64, size lane.Size, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	args := sized(call.Args(d, wake.Publish, wake.Channel, wake.Row), size, wake)
	return scripts.Integer(addSized, row.Keys(wake, key, call.Key), args, scripts.Int64).Needs(2)
}

// DrainSized is Drain for a semaphore that it sets up before if it is not there.
func DrainSized(key string, size lane.Size, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return scripts.Integer(drainSized, row.Keys(wake, key, call.Key), sized(call.Args(), size, wake),
		scripts.Int64).Needs(2)
}

// sized appends the arguments of the prelude size.
func sized(args []any, size lane.Size, wake scripts.Wake) []any {
	return append(args, wake.Publish, wake.Channel, wake.Row, size.Permits, scripts.Milliseconds(size.TTL))
}

// ReleaseIfExists is Release that sets up no semaphore, and answers whether there is one to give the permits
// to.
func ReleaseIfExists(key string, n int64, wake scripts.Wake, call lane.Call) scripts.Command[bool] {
	return change(releaseIfExists, key, n, wake, call, scripts.Bool)
}

// KeepSized is Keep that sets up no semaphore.
func KeepSized(key string, n int64, session string, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return keepBy(keepSized, key, n, session, wake, call)
}

// YieldSized is Yield of a KeepSized.
func YieldSized(key string, n int64, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	return keepBy(yieldSized, key, n, row.Kept, wake, call)
}
