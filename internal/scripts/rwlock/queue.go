package rwlock

import (
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/row"
)

// The processes that wait for a read-write lock stand in a process queue. No process is handed the lock:
// those whose turn it is are told, and ask by the script that they would use anyway.
//
//	        refused                 the lock can be had, and it is the turn of the candidate
//	asks ────────────► in the queue ────────────────────────────────────────────────────────► told
//	 ▲                    ▲                                                                    │
//	 │                    └── refused again: in the place that it had ─────────────────────────┤
//	 │                                                                                         │
//	 └── holds, or has no waiter any more: out of the queue, and in the latter case the next is told
//
// Those that read and stand one behind the other are told at once, for they do not keep each other out.

// A Candidate stands for a process in the process queue, behind those of other processes. The zero value is
// none.
type Candidate struct {
	ID       string // the session of the process, a colon, and a number
	Patience time.Duration
	Writes   bool // the head of its local queue wants to write
}

// A Successor is a fresh owner of the giver's process that is to write if nobody of another process waits.
// The zero value is none.
type Successor struct {
	Field string // the owner with WriteSuffix
	Lease time.Duration
}

// queued adds what the prelude queue is about to the keys and the arguments of a script.
func (n *names) queued(all []string, args []any, wake scripts.Wake, c Candidate) ([]string, []any) {
	wants := 1
	if c.Writes {
		wants = 1023
	}
	args = append(args, c.ID, scripts.Milliseconds(c.Patience), wants, wake.Row, len(all)+1)
	if wake.Row != "" {
		all = append(all, wake.Row, n.writers)
	}
	return all, args
}

var (
	function  = "local function acquire()"
	standRead = scripts.Load(folder, "rwlock/stand", row.Take, strangers, queue, outsiders, function, loneRead, ours,
		scripts.Prelude(folder, "acquire_read.lua"), "end")
	standWrite = scripts.Load(folder, "rwlock/stand", row.Take, strangers, queue, outsiders, function, loneWrite, markers, ours,
		readers,
		scripts.Prelude(folder, "acquire_write.lua"), "end")
)

// StandRead is AcquireRead for the head of a local queue.
func StandRead(key, owner string, lease time.Duration, wake scripts.Wake, c Candidate) scripts.Command[row.Answer] {
	n := namesOf(key)
	all, args := n.queued([]string{key, n.readers, n.strangers, n.writers, keys.ReadMarker(n.tag, owner, 1)},
		[]any{owner, scripts.Milliseconds(lease), "", wake.Publish, wake.Channel}, wake, c)
	return scripts.Integer(standRead, all, args, stood).Needs(5)
}

// StandWrite is AcquireWrite for the head of a local queue.
func StandWrite(key, field string, lease time.Duration, a Announcement, wake scripts.Wake,
	c Candidate) scripts.Command[row.Answer] {
	n := namesOf(key)
	all, args := n.queued([]string{key, n.readers, n.strangers, n.writers},
		[]any{field, scripts.Milliseconds(lease), a.Session, scripts.Milliseconds(a.For), wake.Publish, wake.Channel},
		wake, c)
	return scripts.Integer(standWrite, append(all, n.moving), args, stood).Whole().Needs(4).Finds(markersOf)
}

// stood is the answer to a head, which stands in the queue if it was refused.
func stood(reply scripts.Reply) (a row.Answer, err error) {
	if a.Open = reply.Int < open; a.Open {
		reply.Int = open - reply.Int
	}
	a.Attempt, err = scripts.Taken(reply)
	if !a.Held {
		a.At = 1
	}
	return a, err
}

// open, less milliseconds, is what is answered while the lock is left to outsiders.
const open = -4

// HandOnRead is ReleaseRead, after which the candidate of the process stands behind the others, or next
// holds. An owner that held nothing leaves the queue. With attends readers that stay leave the lock to
// outsiders, should some wait.
func HandOnRead(
	key, owner string, most int, wake scripts.Wake, c Candidate, next Successor, attends bool,
) scripts.Command[row.Release] {
	return handOn(Read, key, owner, most, wake, c, next, attends)
}

// HandOnWrite is ReleaseWrite, in the same way.
func HandOnWrite(key, field string, wake scripts.Wake, c Candidate, next Successor) scripts.Command[row.Release] {
	return handOn(Write, key, field, 0, wake, c, next, false)
}

func handOn(
	side, key, field string, most int, wake scripts.Wake, c Candidate, next Successor,
	attends bool,
) scripts.Command[row.Release] {
	var room [8]string
	var words [13]any
	n := namesOf(key)
	args := append(words[:0], field, wake.Publish, wake.Channel, messages[side], most, next.Field,
		scripts.Milliseconds(next.Lease))
	if attends {
		args = append(args, 1)
	}
	all, args := n.queued(n.withMarkers(room[:0], field, most), args, wake, c)
	return scripts.Integer(release, append(all, n.moving), args, row.Released).Whole().Needs(3 + most).Finds(markersOf)
}

func freed(r row.Release) bool { return r.Freed }

// CandidateOf is the candidate of an owner whose field this is.
func CandidateOf(field string, patience time.Duration) Candidate {
	id, writes := strings.CutSuffix(field, WriteSuffix)
	return Candidate{ID: id, Patience: patience, Writes: writes}
}
