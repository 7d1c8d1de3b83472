// Package rlock holds the scripts of the plain lock layout: a hash in which the field is the owner and its
// value the number of holds. Re-entrant, non-reentrant, spin, fenced and fair locks share it, and what works
// on one field of it (Recount, Release, Renew) serves the write side of a read-write lock too.
//
// A script never adds to a count that it finds: it carries the count that the owner wants, so that a second
// execution changes nothing. An owner is minted for one acquisition and never used again by another, which is
// why a field that is found at the first acquisition can only be its own, from an earlier execution.
//
// The message that a release publishes is its last step. If the server refuses it, for want of a permission
// on the channel, the script answers that error although the lock was released.
package rlock

import (
	"embed"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

//go:embed *.lua
var folder embed.FS

var (
	acquire    = scripts.Load(folder, "rlock/acquire")
	acquireAll = scripts.Load(folder, "rlock/acquire_all", row.Take)
	recount    = scripts.Load(folder, "rlock/recount")
	release    = scripts.Load(folder, "rlock/release")
	inRow      = row.Load(nil, row.NoToken)
	renew      = scripts.Load(folder, "rlock/renew", notice.Gone)
	force      = scripts.Load(folder, "rlock/force")
	inspect    = scripts.Load(folder, "rlock/inspect")
)

// Acquire takes the lock for a fresh owner with one hold and the lease as TTL, if it is free. An execution
// that finds the owner holding already is a repetition: it answers that the lock is held and leaves count and
// TTL alone.
func Acquire(key, owner string, lease time.Duration) scripts.Command[scripts.Attempt] {
	return scripts.Integer(acquire, []string{key}, []any{owner, scripts.Milliseconds(lease)}, scripts.Taken)
}

// Enlist is Acquire for an owner who waits in the row; see [row.Scripts.Enlist].
func Enlist(key, owner string, lease time.Duration, line []string, patience time.Duration,
	looks bool) scripts.Command[row.Answer] {
	return inRow.Enlist([]string{key}, owner, lease, line, patience, looks)
}

// Recount sets the number of holds of an owner and lengthens the TTL to lease, never shortens it. It serves
// re-entry, partial release, and an owner that states again what it holds. It answers false, and creates
// nothing, when the owner holds the lock no more. A lease of 0 leaves the TTL alone.
func Recount(key, owner string, holds int, lease time.Duration) scripts.Command[bool] {
	return scripts.Integer(recount, []string{key}, []any{owner, holds, scripts.Milliseconds(lease)}, scripts.Bool)
}

// Release ends all holds of an owner, whatever their number, and wakes the waiters. It answers false when the
// owner held nothing, as it does when it is executed a second time. It needs no memory, so a full server
// accepts it. A wake without a command, as for spin locks, publishes nothing.
func Release(key, owner string, wake scripts.Wake) scripts.Command[bool] {
	return scripts.Integer(release, []string{key}, []any{owner, wake.Publish, wake.Channel}, scripts.Bool)
}

// HandOver hands the lock on; see [row.Scripts.HandOver].
func HandOver(key, from, to string, lease time.Duration) scripts.Command[scripts.Attempt] {
	return inRow.HandOver([]string{key}, from, to, lease, 0, 0)
}

// Pass is Release to the first in the row; see [row.Scripts.Pass].
func Pass(key, owner string, wake scripts.Wake, turn row.Turn) scripts.Command[row.Release] {
	return inRow.Pass([]string{key}, owner, wake, turn)
}

// A Renewal is one owner whose TTL is lengthened.
type Renewal = scripts.Renewal

// Renew lengthens the TTL of many locks of one cluster slot and answers for each whether its owner still
// holds it. It never shortens a TTL and never creates a key. A server executes nothing else meanwhile: a
// hundred names are enough.
func Renew(names []Renewal) scripts.Command[scripts.Kept] {
	return scripts.Renew(renew, names, keys.Forced, nil, nil)
}

// Force deletes the lock whoever holds it and wakes the waiters. It answers whether there was a lock: a
// repetition of one that succeeded says false, and may remove the lock of the next holder, who loses it as
// anybody does.
func Force(key string, wake scripts.Wake) scripts.Command[bool] {
	return scripts.Integer(force, []string{key}, []any{wake.Publish, wake.Channel}, scripts.Bool)
}

// Inspect reads the whole hash. It goes through a script because a client that reads from replicas would send the
// plain commands to one that lags.
func Inspect(key string) scripts.Command[scripts.State] {
	return scripts.Array(inspect, []string{key}, nil, func(reply scripts.Reply) (state scripts.State, err error) {
		e := reply.Elements()
		state.Exists, state.TTL = e.TTL()
		state.Fields = e.Pairs()
		return state, e.End()
	})
}

// Status reads whether the lock is held, how long still, and how often by owner.
func Status(key, owner string) scripts.Command[scripts.Status] {
	return scripts.Array(inspect, []string{key}, nil, func(reply scripts.Reply) (s scripts.Status, err error) {
		e := reply.Elements()
		s.Exists, s.TTL = e.TTL()
		for e.More() {
			if e.Text() == owner {
				s.Holds = e.Number()
			} else {
				e.Text()
			}
		}
		return s, e.End()
	})
}

// A Want is a lock, the fresh owner that is to hold it, and its lease.
type Want struct {
	Key, Owner string
	Lease      time.Duration
}

// An AttemptAll is the answer to a call that wants several locks.
type AttemptAll struct {
	Held      bool
	Busy      int           // without Held: the place of the first lock that another owner holds, or that is Open
	Remaining time.Duration // until the lease of that one is over; negative when its key has no TTL
	Open      bool          // it is free, but for Remaining only for outsiders
}

// AcquireAll takes all locks, as Acquire does, or none of them. Their keys are different, and of one cluster
// slot. open are, in the same order, the keys that say that a lock is free for outsiders only, the lock's own
// key for one that has none; nil for a call that does not leave them to outsiders.
func AcquireAll(wants []Want, open []string) scripts.Command[AttemptAll] {
	n := len(wants)
	l := acquireAll.Layout(3*n + len(open))
	for _, w := range wants {
		l.Key(w.Key)
	}
	for _, key := range open {
		l.Key(key)
	}
	for _, w := range wants {
		l.Text(w.Owner)
		l.Number(scripts.Milliseconds(w.Lease))
	}
	return scripts.Laid(l, func(reply scripts.Reply) (AttemptAll, error) {
		e := reply.Elements()
		busy, remaining := e.Count(0, 2*n), e.Time()
		switch {
		case busy == 0:
			return AttemptAll{Held: true}, e.End()
		case busy > n:
			return AttemptAll{Busy: busy - n - 1, Remaining: remaining, Open: true}, e.End()
		}
		return AttemptAll{Busy: busy - 1, Remaining: remaining}, e.End()
	}).Needs(n)
}
