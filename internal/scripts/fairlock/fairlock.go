// Package fairlock holds the scripts of the fair lock: the plain lock's hash, and beside it Redisson's queue
// of waiters with a deadline for each. What concerns the hash alone is done by the scripts of package rlock.
//
// Redisson computes deadlines by the clocks of its clients; the scripts here read the server's, and are never
// told the time by anybody.
//
// Redisson removes a waiter whose deadline has passed, although it may live and only have waited for long.
// The deadlines of our own waiters are moved on while they live, and beside the queue we keep until when each
// of them is known to be alive, a set that Redisson does not look at. By that, and not by deadlines, we judge
// our own.
//
// That set also says what the queue is like. A queue is pure while it has as many members as the list:
// everybody is one of ours. Then a deadline depends on nobody else's, two patiences after the end of the
// holder's lease, and no script costs more the more there are that wait. With one of Redisson's in it a queue
// is mixed, and deadlines are the chain that Redisson makes of them: each waiter's lies its patience behind
// that of the one in front, and who acquires or leaves takes its patience off those behind. To keep that up
// somebody has to walk along the queue.
//
//	pure ──one of Redisson's, or of an older version of ours, comes; or a set is lost──► mixed
//	 ▲                                                                                    │
//	 └────────the last of them is gone; each of our processes has asked───────────────────┘
//
// A queue that is taken for pure and is not costs deadlines, and nothing else: who is next is always read
// from the list.
//
// Redisson's give no sign of life, and are judged by their deadlines, as Redisson does. A waiter that died
// may have one that is minutes away, so a deadline is changed in two ways. Behind one of ours it is moved on
// together with ours: whoever waits behind a living waiter keeps its place. And while the lock is free, for
// one who is next and does not come, each of our waiters that asks sends the message again, and it has
// seconds left:
//
//	behind ──those in front are gone──► next ──the lock is free, it has its message──► held
//	   ▲                                  │
//	   │ it lives and asks again          │ one of ours asks meanwhile: it has 6 s, or 15 s if somebody listens on its
//	   └──at the end──────── removed ◄────┘ channel, unless its own deadline is sooner
//
// Nobody is let in by this who is not next to a free lock. A living waiter that is removed loses its place
// and nothing else. It costs six seconds for each that died, where Redisson waits for the five minutes of
// each.
package fairlock

import (
	"embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

//go:embed *.lua
var folder embed.FS

var (
	queue   = scripts.Clock + "\n" + scripts.Prelude(folder, "queue.lua")
	acquire = scripts.Load(folder, "fairlock/acquire", row.Take,
		scripts.Prelude(folder, "acquire_alone.lua"), queue, scripts.Prelude(folder, "mixed.lua"))
	release = scripts.Load(folder, "fairlock/release",
		scripts.Prelude(folder, "release_alone.lua"), queue, scripts.Prelude(folder, "mixed.lua"))
	force  = scripts.Load(folder, "fairlock/force", queue)
	queued = scripts.Load(folder, "fairlock/queued")
)

// Handed is for how long an owner holds that was handed the lock by another one's release. The watchdog of
// its process renews that. It is short because the process may have died without the server's notice.
const Handed = 10 * time.Second

// Most is how many owners stand in a row at most, of which the first is handed the lock.
const Most = 32

// recent are the keys of the lock that was used last, and its row. Names that are put together anew for each
// command are a third of what a lone caller allocates.
var recent atomic.Pointer[[6]string]

func keysOf(key string) (names []string, row string) {
	all := recent.Load()
	if all == nil || all[0] != key {
		all = &[6]string{key, keys.FairQueue(key), keys.FairTimeouts(key), keys.FairAlive(key), keys.Moving(key),
			keys.FairRow(key)}
		recent.Store(all)
	}
	return all[:5], all[5]
}

// A Waiter is an owner that wants the lock.
type Waiter struct {
	Owner    string
	Patience time.Duration // 0: it does not queue
}

// A Load is what a script does beside its own work, for the process that sends it.
type Load struct {
	Finished []string // owners that were served without a command, or have left: they are taken out of the queue
	Arrivals []Waiter // owners that are put at the end of the queue, in this order
}

// An Answer is what a waiter was told.
type Answer struct {
	Held   bool
	Again  time.Duration // when asking again is worth while without a message; negative when the server cannot tell
	Place  int           // in the queue: 0 for the next one, 1 for one behind somebody; -1 when it is in none
	Places []int         // of the others that were asked for, in the same order

	Whole   bool     // the load was carried; what follows is known then
	At      int64    // what the server's clock showed, in milliseconds
	Foreign bool     // owners wait or hold that are not of this library
	Leaves  bool     // one of them may be told that the lock is free, and leave without a word
	Row     []string // of an owner that holds: the numbers of those of its process behind it, one behind the other
}

// Acquire takes the lock if it is free and w is next, or nobody waits. Otherwise w is put at the end of the
// queue, or its place is confirmed, and so are those of others, waiters of the same process. A second
// execution changes nothing but the moments until which the waiters are known to be alive.
func Acquire(key string, w Waiter, lease time.Duration, wake scripts.Wake, others []Waiter,
	load Load) scripts.Command[Answer] {
	names, row := keysOf(key)
	var alone [6]any // stays on the stack
	args := append(alone[:0], w.Owner, scripts.Milliseconds(lease), scripts.Milliseconds(w.Patience), wake.Publish,
		wake.Channel, row)
	if len(others)+len(load.Finished)+len(load.Arrivals) > 0 {
		args = load.append(args)
		args = appendWaiters(args, others)
	}
	return scripts.Array(acquire, names, args, func(reply scripts.Reply) (Answer, error) {
		return answer(reply, len(others))
	}).Whole()
}

func (l *Load) append(args []any) []any {
	args = append(args, len(l.Finished), len(l.Arrivals))
	for _, owner := range l.Finished {
		args = append(args, owner)
	}
	return appendWaiters(args, l.Arrivals)
}

func appendWaiters(args []any, waiters []Waiter) []any {
	for _, w := range waiters {
		args = append(args, w.Owner, scripts.Milliseconds(w.Patience))
	}
	return args
}

func answer(reply scripts.Reply, others int) (a Answer, err error) {
	e := reply.Elements()
	a.Held, a.Again, a.Place = e.Bool(), e.Time(), e.Count(-1, math.MaxInt32)
	if !e.More() {
		return a, e.End()
	}
	a.Whole, a.At = true, e.Moment()
	foreign := e.Count(0, 2)
	a.Foreign, a.Leaves = foreign > 0, foreign == 2
	if a.Held {
		a.Row, err = numbers(&e)
		return a, err
	}
	for range others {
		a.Places = append(a.Places, e.Count(-1, math.MaxInt32))
	}
	return a, e.End()
}

// numbers reads the numbers of owners, which are the rest.
func numbers(e *scripts.Elements) (all []string, err error) {
	for e.More() {
		number := e.Text()
		if _, err := strconv.ParseUint(number, 10, 64); err != nil {
			return nil, fmt.Errorf("answered %q where the number of an owner was expected", number)
		}
		all = append(all, number)
	}
	return all, e.End()
}

// A Message is what a process is told.
type Message struct {
	At    int64         // with more than one kind of row: what the server's clock showed, in milliseconds
	Row   []string      // numbers of owners: the first was made to hold, the others stand behind it, one behind the other
	Wakes string        // the number of an owner that is to ask, if Lease is 0
	Lease time.Duration // of the present holder: the owner is next
	Void  bool          // the lock was taken away from this process
}

// Read reads a message on the channel of a process.
func Read(message string) (m Message, ok bool) {
	parts := strings.Fields(message)
	switch {
	case len(parts) == 1 && parts[0] == "v":
		return Message{Void: true}, true
	case len(parts) == 3 && parts[0] == "w":
		return Message{Wakes: parts[1], Lease: LeaseOf(parts[2])}, true
	case len(parts) >= 3 && parts[0] == "h":
		at, err := strconv.ParseInt(parts[1], 10, 64)
		return Message{At: at, Row: parts[2:]}, err == nil && scripts.Moment(at) == nil
	}
	return m, false
}

// LeaseOf is the lease of the present holder that a message to a waiter tells, 0 where it tells that the lock
// may be free.
func LeaseOf(message string) time.Duration {
	lease, err := strconv.ParseInt(message, 10, 64)
	if err != nil || lease < 0 || lease > int64(math.MaxInt64/time.Millisecond) {
		return 0
	}
	return time.Duration(lease) * time.Millisecond
}

// Release ends all holds of w and its wait, whichever it has. It answers whether it held. If the lock is free
// then, whoever is next is handed it or woken, on each execution.
func Release(key string, w Waiter, wake scripts.Wake) scripts.Command[bool] {
	names, row := keysOf(key)
	return scripts.Integer(release, names, releaseArgs(w, wake, row), scripts.Bool).Whole()
}

func releaseArgs(w Waiter, wake scripts.Wake, row string) []any {
	return []any{w.Owner, wake.Publish, wake.Channel, scripts.Milliseconds(w.Patience), row, scripts.Milliseconds(Handed)}
}

// A Turn is what a release has found.
type Turn struct {
	Held bool  // until then
	At   int64 // what the server's clock showed, in milliseconds
	// numbers of owners of the same session: the first holds now, the others stand behind it, one behind the
	// other
	Row []string
}

// Pass is Release for a process in which others wait. If its own waiter is the next, the answer says so, and
// no message.
func Pass(key string, w Waiter, wake scripts.Wake, load Load) scripts.Command[Turn] {
	names, channel := keysOf(key)
	args := load.append(releaseArgs(w, wake, channel))
	return scripts.Array(release, names, args, func(reply scripts.Reply) (t Turn, err error) {
		e := reply.Elements()
		t.Held, t.At = e.Bool(), e.Moment()
		t.Row, err = numbers(&e)
		return t, err
	}).Whole()
}

// Force deletes the lock whoever holds it, wakes the next waiter, and answers whether there was a lock.
func Force(key string, wake scripts.Wake) scripts.Command[bool] {
	names, row := keysOf(key)
	return scripts.Integer(force, names, []any{wake.Publish, wake.Channel, row}, scripts.Bool).Whole()
}

// Queued reads the owners that wait, the next one first.
func Queued(key string) scripts.Command[[]string] {
	return scripts.Array(queued, []string{keys.FairQueue(key)}, nil, func(reply scripts.Reply) ([]string, error) {
		owners := make([]string, len(reply.List))
		for i, element := range reply.List {
			owners[i] = fmt.Sprint(element)
		}
		return owners, nil
	})
}
