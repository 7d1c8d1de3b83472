// Package lane makes operations on counters take effect once, however often they are executed. A counter has
// no owner whose absolute count could be sent, so the memory of what was done is kept beside it.
//
// A session keeps one private hash for each object, in the object's slot. A call borrows a lane, a field of
// the hash, and numbers its operations in ascending order. The server stores the number and the reply of the
// lane's last operation that changed something:
//
//	stored < sequence   executed, and stored if it changed something
//	stored = sequence   answered from the store; nothing is executed
//	stored > sequence   refused as stale: a copy of a command that was given up
//
// What the borrower owes in return:
//
//   - One unsettled operation at a time in a lane, and a new number for each new operation, whatever became of the last.
//   - An operation that changed nothing leaves no trace. If one of its sends has an unknown outcome, a copy of it may
//     still be on its way and would be executed. Fence, or the Cancel of the operation, stores the next number, and the
//     copy is refused. The lane must not be lent before that.
//   - Numbers of one half minute are of one round, and those of another of another. A lane that enters a round begins the
//     lifetime of the hash anew, which is half a minute longer than the two minutes that are promised; so that is not
//     to be done by every operation.
//   - An operation may be forgotten two minutes after its number was drawn, however much later it was executed: by then
//     everything is to be settled that would have to be remembered.
package lane

import (
	"embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/scripts"
)

//go:embed *.lua
var folder embed.FS

// Prelude begins every script that takes a Call; Value begins those that read the counter. Prelude goes
// first, so that a repetition is answered without looking at the counter. It has two parts: what a script
// does that needs none of the functions of Settle can stand between them, for an execution makes each
// function anew.
var (
	Once    = scripts.Prelude(folder, "once.lua")
	Settle  = scripts.Prelude(folder, "settle.lua")
	Prelude = Once + "\n" + Settle
	Value   = scripts.Prelude(folder, "value.lua")
)

// Round is how many numbers belong to a half minute: more than a session can use in that time, and so few
// that the numbers of thirty years stay exact in Lua.
const Round = 1 << 28

// An Alteration is the script that removes the counters of one kind, or changes their TTL.
type Alteration struct{ script *scripts.Script }

// Alters is that of counters which this prelude reads, refusing what is none.
func Alters(prelude string) Alteration {
	return Alteration{scripts.Load(folder, "lane/alter", Prelude, prelude)}
}

// Counter alters counters that nothing belongs to.
var Counter = Alters(Value)

// Delete removes the counter and what belongs to it, whose keys these are, and answers whether there was any.
func (a Alteration) Delete(keys []string, call Call) scripts.Command[bool] {
	return scripts.Integer(a.script, keys, call.Args("del"), scripts.Bool)
}

// Expire sets the TTL, and answers whether there is a counter.
func (a Alteration) Expire(keys []string, ttl time.Duration, call Call) scripts.Command[bool] {
	return scripts.Integer(a.script, keys, call.Args("pexpire", scripts.Milliseconds(ttl)), scripts.Bool)
}

// Persist removes the TTL, and answers whether there was one.
func (a Alteration) Persist(keys []string, call Call) scripts.Command[bool] {
	return scripts.Integer(a.script, keys, call.Args("persist"), scripts.Bool)
}

// A Call is one operation in a lane.
type Call struct {
	Key  string // the session's private hash for the object, from keys.Lanes
	Lane int64
	Seq  int64 // 1 or more, ascending in the lane
}

// Keys are the keys of a script that begins with the prelude and works on one counter.
func (c Call) Keys(counter string) []string { return []string{counter, c.Key} }

// Args are the arguments of such a script.
func (c Call) Args(rest ...any) []any { return append([]any{c.Lane, c.Seq}, rest...) }

// Granted is the answer to an acquisition.
type Granted struct {
	Served bool          // the caller has all that it wanted; else it has nothing
	More   int64         // how many permits were taken beside, for calls of the same process behind the caller
	Again  time.Duration // when there may be enough without a message, negative when that is not known
	Short  Shortage      // why the caller was not served, where that is known
	Have   int64         // how many permits there are, in the sense of Short
	Total  int64         // of a semaphore with a Size, when the caller was served: how many there are if that is another number; else 0
}

// MostBeside is how many permits an acquisition may take beside those that it is for.
const MostBeside = 1000

// ReadGranted reads the answer to an acquisition: an outcome, and eight times a value. As an array of two it would
// cost each caller that is alone two objects more.
func ReadGranted(reply scripts.Reply) (g Granted, err error) {
	g.Again = -1
	outcome, value := reply.Int%8, reply.Int/8
	switch {
	case reply.Int == 0: // a permit may come back without a message, and it is not known when
	case outcome == 1:
		g.Served, g.More, g.Total = true, value%1024, value/1024
		_, err = scripts.Count(g.More, 0, MostBeside)
	case outcome == 2:
		g.Short = Missing
	case outcome == 3:
		g.Short, g.Have = TooFewNow, value
	case outcome == 4:
		g.Short, g.Have = TooFewEver, value
	case outcome == 5:
		g.Again, err = scripts.Time(value)
	default:
		err = fmt.Errorf("answered %d where an outcome from 0 to 5 was expected", reply.Int)
	}
	return g, err
}

// A Size is what a semaphore is set up with that is not there when it is asked for permits. The zero Size
// sets up nothing.
type Size struct {
	Permits int64         // 1 or more
	TTL     time.Duration // 0 for none
}

// A Shortage is why a caller was not served.
type Shortage int

// The shortages.
const (
	Unknown    Shortage = iota
	Missing             // there is no semaphore
	TooFewNow           // not enough are available at the moment
	TooFewEver          // it wants more than there are, available or not
)

// A Look is what can be seen of a counter.
type Look struct {
	Exists bool
	Value  int64
	TTL    time.Duration // negative without one, 0 when it does not exist
}

var inspect = scripts.Load(folder, "lane/inspect", Value)

// Inspect reads a counter.
func Inspect(counter string) scripts.Command[Look] {
	return scripts.Array(inspect, []string{counter}, nil, func(reply scripts.Reply) (l Look, err error) {
		e := reply.Elements()
		value := e.Text()
		l.Exists, l.TTL = e.TTL()
		if err = e.End(); err == nil && l.Exists {
			l.Value, err = scripts.Number(value)
		}
		return l, err
	})
}

// Read reads the number of a counter, 0 when there is none. It goes through a script because a client that reads
// from replicas would send GET to one that lags.
func Read(counter string) scripts.Command[int64] {
	return scripts.Map(Inspect(counter), func(l Look) int64 { return l.Value })
}

// Stale reports whether a script refused to execute because its lane has gone on.
func Stale(err error) bool { return redis.HasErrorPrefix(err, "REDLATCH-STALE") }

var fence = scripts.Load(folder, "lane/fence", Prelude)

// Fence settles the operation that has the number before the call's: it answers what that has answered, 0 if
// it had no effect, and makes sure that it cannot take effect later.
func Fence(counter string, call Call) scripts.Command[int64] {
	return scripts.Integer(fence, call.Keys(counter), call.Args(), scripts.Int64)
}
