package row

import (
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

// Semaphores have a process queue too. Nobody is passed permits: a process is told to look, and acquires them like
// every other.
//
//	        refused                   a script leaves permits that are enough for it
//	asks ────────────► in the queue ───────────────────────────────────────────────────► told
//	 ▲                                                                                    │
//	 └──────────────── refused again: in the place that it had ───────────────────────────┘
//
// If permits are left when the process has acquired, its script tells the next one, and so does that of a
// process that finds too few for itself, or that has nobody left who wants some. So a raise by n permits
// wakes up to n processes one after the other. What gets lost costs a poll interval.
//
// Redisson's waiters never poll. So a raise is announced on the wake channel as well, if anybody listens
// there who is not known to be of this library. What is known is counted by the subscribers of a channel on
// which nothing is sent: a process that listens to the wake channel and to its own subscribes to that one
// last, and leaves it first, by one connection. So the count is never too high, whatever becomes of the
// process.

// Told is a prelude, behind [scripts.Clock], of the scripts that tell processes of a queue, and Stand of those
// that have one stand there. Announce, which begins with Told, and Wait with Stand, are preludes of the scripts of
// semaphores.
var (
	Told     = scripts.Prelude(folder, "told.lua")
	Stand    = scripts.Prelude(folder, "stand.lua")
	Announce = scripts.Clock + "\n" + Told + "\n" + scripts.Prelude(folder, "announce.lua")
	Wait     = Stand + "\n" + scripts.Prelude(folder, "wait.lua")
)

// What others of the prelude Announce answers, and else 0: somebody of another process waits, or that cannot be known.
const (
	Kept      = 1 // nobody else waits
	Outsiders = 2 // somebody listens who is not known to be of this library
	Renamed   = 3 // nobody was looked for
)

// A Candidate stands for a process in the process queue of a semaphore.
type Candidate struct {
	ID       string // empty: the acquisition is of a caller that does not wait
	Patience time.Duration
}

// Args are the arguments of the prelude Wait.
func (c Candidate) Args(wake scripts.Wake) []any {
	return []any{wake.Publish, wake.Channel, wake.Row, c.ID, scripts.Milliseconds(c.Patience)}
}

// Keys are the keys of a script that announces permits: those that it needs, and the row, which it can do
// without.
func Keys(wake scripts.Wake, needed ...string) []string {
	var all [most]string // appending would allocate
	n := copy(all[:], needed)
	if wake.Row != "" {
		all[n] = wake.Row
		n++
	}
	return all[:n]
}

// ForOthers tells whether a message on the wake channel of a semaphore is not for those who are in the row.
func ForOthers(message string) bool { return len(message) > 1 && message[0] == '0' }

// Known is the channel whose subscribers are known to be of this library, and to stand in the row when they
// wait.
func Known(row string) string { return row + ":known" }

var leave = scripts.Load(folder, "row/leave", Announce)

// Leave takes a candidate out of the row of a semaphore, or has what it was told told to the next. It answers
// whether the candidate was in the row.
func Leave(semaphore string, wake scripts.Wake, candidate string) scripts.Command[bool] {
	return scripts.Integer(leave, []string{semaphore, wake.Row}, []any{wake.Publish, wake.Channel, candidate},
		scripts.Bool)
}
