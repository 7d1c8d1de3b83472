// Package fairlock holds the scripts of the fair lock: the plain lock's hash, and beside it Redisson's queue of waiters
// with a deadline for each. What concerns the hash alone is done by the scripts of package rlock.
//
// Redisson computes deadlines by the clocks of its clients; the scripts here read the server's, and are never told the
// time by anybody.
//
// Redisson removes a waiter whose deadline has passed, although it may live and only have waited for long. The deadlines
// of our own waiters are moved on while they live, and beside the queue we keep until when each of them is known to be
// alive, a set that Redisson does not look at. By that, and not by deadlines, we judge our own.
//
// That set also says what the queue is like. A queue is pure while it has as many members as the list: everybody is one of
// ours. Then a deadline depends on nobody else's, two patiences after the end of the holder's lease, and no script costs
// more the more there are that wait. With one of Redisson's in it a queue is mixed, and deadlines are the chain that
// Redisson makes of them: each waiter's lies its patience behind that of the one in front, and who acquires or leaves takes
// its patience off those behind. To keep that up somebody has to walk along the queue.
//
//	pure ──one of Redisson's, or of an older version of ours, comes; or a set is lost──► mixed
//	 ▲                                                                                    │
//	 └────────the last of them is gone; each of our processes has asked───────────────────┘
//
// A queue that is taken for pure and is not costs deadlines, and nothing else: who is next is always read from the list.
//
// Redisson's give no sign of life, and are judged by their deadlines, as Redisson does. A waiter that died may have one
// that is minutes away, so a deadline is changed in two ways. Behind one of ours it is moved on together with ours: whoever
// waits behind a living waiter keeps its place. And while the lock is free, for one who is next and does not come, each
// of our waiters that asks sends the message again, and it has seconds left:
//
//	behind ──those in front are gone──► next ──the lock is free, it has its message──► held
//	   ▲                                  │
//	   │ it lives and asks again          │ one of ours asks meanwhile: it has 6 s, or 15 s if somebody listens on its
//	   └──at the end──────── removed ◄────┘ channel, unless its own deadline is sooner
//
// Nobody is let in by this who is not next to a free lock. A living waiter that is removed loses its place and nothing
// else. It costs six seconds for each that died, where Redisson waits for the five minutes of each.
package fairlock

import (
	"embed"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
)

//go:embed *.lua
var folder embed.FS

var (
	queue   = scripts.Prelude(folder, "queue.lua")
	acquire = scripts.Load(folder, "fairlock/acquire",
		scripts.Prelude(folder, "acquire_alone.lua"), queue, scripts.Prelude(folder, "mixed.lua"))
	release = scripts.Load(folder, "fairlock/release", scripts.Prelude(folder, "release_alone.lua"), queue)
	force   = scripts.Load(folder, "fairlock/force", queue)
	queued  = scripts.Load(folder, "fairlock/queued")
)

// recent are the keys of the lock that was used last. Names that are put together anew for each command are a third of
// what a lone caller allocates.
var recent atomic.Pointer[[4]string]

func keysOf(key string) []string {
	names := recent.Load()
	if names == nil || names[0] != key {
		names = &[4]string{key, keys.FairQueue(key), keys.FairTimeouts(key), keys.FairAlive(key)}
		recent.Store(names)
	}
	return names[:]
}

// A Waiter is an owner that wants the lock.
type Waiter struct {
	Owner    string
	Patience time.Duration // 0: it does not queue
}

// An Answer is what a waiter was told.
type Answer struct {
	Held   bool
	Again  time.Duration // when asking again is worth while without a message; negative when the server cannot tell
	Place  int           // in the queue: 0 for the next one, 1 for one behind somebody; -1 when it is in none
	Places []int         // of the others that were asked for, in the same order
}

// Acquire takes the lock if it is free and w is next, or nobody waits. Otherwise w is put at the end of the queue, or
// its place is confirmed, and so are those of others, waiters of the same process. A second execution changes nothing
// but the moments until which the waiters are known to be alive.
func Acquire(key string, w Waiter, lease time.Duration, wake scripts.Wake, others []Waiter) scripts.Command[Answer] {
	var alone [5]any // stays on the stack
	args := append(alone[:0], w.Owner, scripts.Milliseconds(lease), scripts.Milliseconds(w.Patience), wake.Publish, wake.Channel)
	for _, other := range others {
		args = append(args, other.Owner, scripts.Milliseconds(other.Patience))
	}
	return scripts.Array(acquire, keysOf(key), args, func(reply scripts.Reply) (Answer, error) {
		return answer(reply, len(others))
	})
}

func answer(reply scripts.Reply, others int) (a Answer, err error) {
	const before = 3 // elements in front of the places of the others
	if n := len(reply.List); n < before {
		return a, fmt.Errorf("answered %d elements where at least %d were expected", n, before)
	}
	numbers := make([]int64, len(reply.List))
	for i, element := range reply.List {
		if numbers[i], err = scripts.Number(element); err != nil {
			return a, err
		}
	}
	if a.Held, err = scripts.Bool(scripts.Reply{Int: numbers[0]}); err != nil {
		return a, err
	}
	if a.Again, err = scripts.Time(numbers[1]); err != nil {
		return a, err
	}
	if a.Place, err = scripts.Count(numbers[2], -1, math.MaxInt32); err != nil {
		return a, err
	}
	for _, number := range numbers[before:] {
		place, err := scripts.Count(number, -1, math.MaxInt32)
		if err != nil {
			return a, err
		}
		a.Places = append(a.Places, place)
	}
	if n := len(a.Places); n != others && !a.Held {
		return a, fmt.Errorf("answered the places of %d waiters where %d were asked for", n, others)
	}
	return a, nil
}

// LeaseOf is the lease of the present holder that a message to a waiter tells, 0 where it tells that the lock may be free.
func LeaseOf(message string) time.Duration {
	lease, err := strconv.ParseInt(message, 10, 64)
	if err != nil || lease < 0 || lease > int64(math.MaxInt64/time.Millisecond) {
		return 0
	}
	return time.Duration(lease) * time.Millisecond
}

// Release ends all holds of w and its wait, whichever it has. It answers whether it held. If the lock is free then,
// whoever is next is woken, on each execution.
func Release(key string, w Waiter, wake scripts.Wake) scripts.Command[bool] {
	args := []any{w.Owner, wake.Publish, wake.Channel, scripts.Milliseconds(w.Patience)}
	return scripts.Integer(release, keysOf(key), args, scripts.Bool)
}

// Force deletes the lock whoever holds it, wakes the next waiter, and answers whether there was a lock.
func Force(key string, wake scripts.Wake) scripts.Command[bool] {
	return scripts.Integer(force, keysOf(key), []any{wake.Publish, wake.Channel}, scripts.Bool)
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
