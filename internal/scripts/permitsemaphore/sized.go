package permitsemaphore

import (
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// What follows is for a semaphore that knows its size, and is set up by those who acquire where there is
// none.

// The lines in place of the preludes size and wait say that the number of permits was not given, and that the
// caller does not wait: then the arguments of the acquisition begin with the sixth, and there is no row to
// stand in.
const (
	unsized = "local size, made"
	alone   = "local first, wait = 6"
)

// A caller that is alone is served by acquire_alone where there are as many permits as there are to be.
var (
	size      = scripts.Prelude(folder, "size.lua")
	sizedOnly = "if (tonumber(redis.call('get', KEYS[1]) or '') or -1) + redis.call('zcard', KEYS[3]) == tonumber(ARGV[#ARGV - 1]) then\n" +
		scripts.Prelude(folder, "acquire_alone.lua") + "\nend"
)

var (
	acquireSizedOne = scripts.Load(folder, "permitsemaphore/acquire", lane.Once, sizedOnly, lane.Settle, row.Announce,
		laned, size, alone)
	acquireSized = scripts.Load(folder, "permitsemaphore/acquire", lane.Prelude, row.Announce, laned, size, alone)
	waitSized    = scripts.Load(folder, "permitsemaphore/acquire", lane.Prelude, row.Announce, laned, size, row.Wait)
	addSized     = scripts.Load(folder, "permitsemaphore/set", lane.Prelude, row.Announce, laned, size)
)

// AcquireSized is Acquire, or Wait if there is a candidate, of a semaphore that it sets up if it is not
// there.
func AcquireSized(of Names, ids []string, lease time.Duration, size lane.Size, wake scripts.Wake,
	candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted] {
	script, args := acquireSized, []any{call.Lane, call.Seq}
	switch {
	case candidate.ID != "":
		script, args = waitSized, append(args, candidate.Args(wake)...)
	case len(ids) == 1:
		script = acquireSizedOne
		fallthrough
	default:
		args = append(args, wake.Publish, wake.Channel, wake.Row)
	}
	args = sized(wanted(args, ids, lease), size)
	return scripts.Integer(script, of.laned(call, wake), args, lane.ReadGranted).Needs(3)
}

// AddSized is Add for a semaphore that it sets up before if it is not there.
func AddSized(of Names, d int64, size lane.Size, wake scripts.Wake, call lane.Call) scripts.Command[int64] {
	args := sized(settings(d, wake, call, "add", 0), size)
	return scripts.Integer(addSized, of.laned(call, wake), args, scripts.Int64).Needs(3)
}

// sized appends the arguments of the prelude size.
func sized(args []any, size lane.Size) []any {
	return append(args, size.Permits, scripts.Milliseconds(size.TTL))
}
