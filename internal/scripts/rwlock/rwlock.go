// Package rwlock holds the scripts of the read-write lock: a hash with a mode, a field for each reader and
// one for the writer, and beside it one marker key for each hold of a reader, whose TTL is what that hold was
// promised.
//
//	rw                               mode = read, <owner> = 2          TTL: the longest promise
//	{rw}:<owner>:rwlock_timeout:1    1                                 TTL: the owner's promise
//	{rw}:<owner>:rwlock_timeout:2    1
//
// The markers are the truth about readers: Redisson computes from them what the lock's TTL is to be, and here
// a reader without a living marker is dead, unless it is one of Redisson's and Redisson still renews the
// hash; what is known of those is in a record beside it (strangers.lua). All markers of one of our owners
// carry the same promise, its longest, because Redisson deletes the one with the highest number whichever
// hold ends.
//
// Looking at all markers takes the longer the more readers there are. So ours also stand in a list beside the
// lock, which answers instead where nobody but ours reads (ours.lua).
//
// No other field may stand in the hash, for Redisson counts them. What writers announce stands in a key of
// its own that Redisson does not know.
//
// Re-entry, partial release and renewal of the write side are those of the plain lock: package scripts/rlock.
// What is said there about absolute counts and fresh owners holds here.
package rwlock

import (
	"embed"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

//go:embed *.lua
var folder embed.FS

var (
	markers   = scripts.Prelude(folder, "markers.lua")
	strangers = scripts.Clock + "\n" + scripts.Prelude(folder, "strangers.lua")
	ours      = scripts.Prelude(folder, "ours.lua")
	readers   = scripts.Prelude(folder, "readers.lua")
	keep      = scripts.Prelude(folder, "keep.lua")
	queue     = row.Told + "\n" + row.Stand + "\n" + scripts.Prelude(folder, "queue.lua")
	outsiders = scripts.Prelude(folder, "outsiders.lua")
	lone      = scripts.Prelude(folder, "lone.lua")
	loneRead  = "local side = 'read'\n" + lone
	loneWrite = "local side = 'write'\n" + lone
	leave     = scripts.Prelude(folder, "leave.lua")

	acquireRead  = scripts.Load(folder, "rwlock/acquire_read", row.Take, loneRead, strangers, ours, outsiders)
	recountRead  = scripts.Load(folder, "rwlock/recount_read", strangers, ours, keep)
	release      = scripts.Load(folder, "rwlock/release", leave, markers, strangers, ours, readers, queue, outsiders)
	renewRead    = scripts.Load(folder, "rwlock/renew_read", strangers, ours, keep, notice.Gone)
	confirmRead  = scripts.Load(folder, "rwlock/confirm_read", strangers, ours, keep, queue, outsiders)
	turnRead     = scripts.Load(folder, "rwlock/turn_read", strangers, ours, queue, outsiders)
	turnWrite    = scripts.Load(folder, "rwlock/turn_write", markers, strangers, ours, readers, queue)
	acquireWrite = scripts.Load(folder, "rwlock/acquire_write", row.Take, loneWrite, markers, strangers, ours, readers)
	withdraw     = scripts.Load(folder, "rwlock/withdraw", strangers, queue)
	force        = scripts.Load(folder, "rwlock/force", markers)
	status       = scripts.Load(folder, "rwlock/status", markers, strangers, ours, readers)
	inspect      = scripts.Load(folder, "rwlock/inspect", markers)
)

// The modes, which are also the names of the sides.
const (
	Read  = "read"
	Write = "write"
)

// WriteSuffix ends the field of a writer; the field of a reader is its owner alone.
const WriteSuffix = ":write"

// names are the keys of a lock that do not depend on who holds it, and the tag that its markers begin with.
type names struct{ lock, readers, strangers, writers, moving, tag string }

// recent are the names of the lock that was used last. A lock that is taken again and again has all but its
// owner in common with the time before, and making the names is half of what a lone caller would allocate.
var recent atomic.Pointer[names]

func namesOf(key string) *names {
	if n := recent.Load(); n != nil && n.lock == key {
		return n
	}
	n := &names{key, keys.Readers(key), keys.Strangers(key), keys.Writers(key), keys.Moving(key), keys.Tag(key)}
	recent.Store(n)
	return n
}

// withMarkers adds the keys of a script about one reader to all: those that every script begins with, and its
// markers 1 to most.
func (n *names) withMarkers(all []string, owner string, most int) []string {
	all = append(all, n.lock, n.readers, n.strangers)
	for i := 1; i <= most; i++ {
		all = append(all, keys.ReadMarker(n.tag, owner, i))
	}
	return all
}

// markersOf are the markers for which a script has asked: in turn an owner, in which some bytes are escaped,
// and how many holds it has. When it asks for the third time it is told, by a marker of nobody, to go on
// without those that it does not know then (markers.lua).
func markersOf(key string, asked []string, nth int) (all []string, err error) {
	tag := keys.Tag(key)
	if nth == 3 {
		all = append(all, keys.ReadMarker(tag, "", 0))
	}
	for i := 0; i+1 < len(asked); i += 2 {
		owner, err := url.PathUnescape(asked[i])
		if err != nil {
			return nil, err
		}
		holds, err := strconv.ParseUint(asked[i+1], 10, 16) // more than 65535 are nobody's
		if err != nil {
			return nil, err
		}
		for hold := range int(holds) {
			all = append(all, keys.ReadMarker(tag, owner, hold+1))
		}
	}
	return all, nil
}

// AcquireRead takes the lock for reading for a fresh owner with one hold, if no writer has it and none has
// announced itself. An execution that finds the owner reading already is a repetition: it answers that the
// lock is held and leaves everything alone.
//
// within is the field of a write hold on whose behalf this is: then the lock is taken beside it, and only if
// it is still there. It is empty for everybody else.
func AcquireRead(key, owner string, lease time.Duration, within string) scripts.Command[scripts.Attempt] {
	n := namesOf(key)
	return scripts.Integer(acquireRead, []string{key, n.readers, n.strangers, n.writers,
		keys.ReadMarker(n.tag, owner, 1)},
		[]any{owner, scripts.Milliseconds(lease), within}, scripts.Taken)
}

// RecountRead sets the number of holds of an owner that reads and lengthens its promise to lease. most is the
// most holds that it ever had, these included. It answers false, and creates nothing, when the owner reads no
// more.
func RecountRead(key, owner string, holds, most int, lease time.Duration) scripts.Command[bool] {
	var room [8]string
	return scripts.Integer(recountRead, namesOf(key).withMarkers(room[:0], owner, most),
		[]any{owner, holds, scripts.Milliseconds(lease)}, scripts.Bool)
}

// ReleaseRead ends all holds of a reader, wakes the waiters if nobody else reads, and otherwise takes the
// lock's TTL to what the others were promised. It answers false when the owner did not read, as it does when
// it is executed a second time. It needs no memory, so a full server accepts it.
func ReleaseRead(key, owner string, most int, wake scripts.Wake) scripts.Command[bool] {
	return scripts.Map(HandOnRead(key, owner, most, wake, Candidate{}, Successor{}, false), freed)
}

// A Renewal is one reader whose promise is lengthened. A lease of 0 asserts the promise that its markers
// have.
type Renewal = scripts.Renewal

// RenewRead lengthens the promises of many readers of one cluster slot and answers for each whether it still
// reads. It shortens nothing and makes no reader.
func RenewRead(renewals []Renewal) scripts.Command[scripts.Kept] {
	var all []string
	args := make([]any, 0, 3*len(renewals))
	for _, r := range renewals {
		all = namesOf(r.Key).withMarkers(all, r.Owner, r.Most)
		args = append(args, r.Most, r.Owner, scripts.Milliseconds(r.Lease))
	}
	needs := len(all)
	for _, r := range renewals {
		all = append(all, keys.Forced(r.Key))
	}
	return scripts.Renewing(renewRead, all, needs, args, len(renewals))
}

// An Announcement tells readers to stand back for a writer that waits, until the writer has the lock,
// withdraws, or has not asked for that long. The zero value announces nothing.
type Announcement struct {
	Session string
	For     time.Duration
}

// AcquireWrite takes the lock for writing for a fresh owner with one hold, if nobody has it but readers whose
// promises are over. field is the owner with WriteSuffix. A refusal leaves the announcement, an acquisition
// takes it back.
func AcquireWrite(key, field string, lease time.Duration, a Announcement) scripts.Command[scripts.Attempt] {
	n := namesOf(key)
	return scripts.Integer(acquireWrite, []string{key, n.readers, n.strangers, n.writers, n.moving},
		[]any{field, scripts.Milliseconds(lease), a.Session, scripts.Milliseconds(a.For)},
		scripts.Taken).Whole().Finds(markersOf)
}

// Withdraw takes back the announcement of a session, and wakes the readers that stood back for it.
func Withdraw(key, session string, wake scripts.Wake) scripts.Command[bool] {
	n := namesOf(key)
	var room [8]string
	all, args := n.queued(append(n.withMarkers(room[:0], "", 0), n.writers), []any{session, wake.Publish, wake.Channel},
		wake, Candidate{})
	return scripts.Integer(withdraw, all, args, scripts.Bool).Needs(4)
}

// ReleaseWrite ends all write holds of an owner and wakes the waiters. If the owner reads too, the lock is
// held for reading from then on. It answers false when the owner did not write. It needs no memory.
func ReleaseWrite(key, field string, wake scripts.Wake) scripts.Command[bool] {
	return scripts.Map(HandOnWrite(key, field, wake, Candidate{}, Successor{}), freed)
}

// messages are what the last reader and the writer send when they leave; their values are Redisson's.
var messages = map[string]string{Read: "0", Write: "1"}

// Force deletes the lock with all its holders if it is in the mode of that side, and wakes the waiters. It
// answers whether it was.
func Force(key, side string, wake scripts.Wake) scripts.Command[bool] {
	return scripts.Integer(force, namesOf(key).withMarkers(nil, "", 0),
		[]any{side, wake.Publish, wake.Channel, messages[side]}, scripts.Bool).Finds(markersOf)
}

// Status reads whether a side is held, how long still, and how often by the owner of field.
func Status(key, field, side string) scripts.Command[scripts.Status] {
	return scripts.Array(status, namesOf(key).withMarkers(nil, "", 0), []any{field, side},
		scripts.OfOwner).Finds(markersOf)
}

// Inspect reads the whole hash, and how long each reader was promised.
func Inspect(key string) scripts.Command[scripts.State] {
	return scripts.Array(inspect, []string{key}, nil, func(reply scripts.Reply) (state scripts.State, err error) {
		e := reply.Elements()
		state.Exists, state.TTL = e.TTL()
		state.Fields, state.TTLs = map[string]string{}, map[string]time.Duration{}
		for e.More() {
			field := e.Text()
			state.Fields[field] = e.Text()
			if marked, ttl := e.TTL(); marked {
				state.TTLs[field] = ttl
			}
		}
		return state, e.End()
	}).Finds(markersOf)
}
