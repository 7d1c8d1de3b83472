// Package row is what a lock adds whose holders hand it to other processes: the process queue, in which each
// process that waits has a candidate, and the message by which a process learns that it is its turn.
//
//	        refused                     the first of those who are there
//	asks ────────────► in the queue ─────────────────────────────────────► holds, and is told so
//	  ▲                  │         │
//	  └── asks again ────┘         └── leaves, or has not asked for its patience ──► no longer there
//
// A candidate is the owner that is to hold. It is minted for the purpose, so it stands in the lock's hash
// only when the lock was passed to it, or when it asked and found the lock free.
//
// The message is a courtesy. Who does not get it finds itself holding when it asks the next time. Who gets it
// and has gone releases; a process that has died without the server's notice keeps the others waiting for the
// lease of a pass.
package row

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/scripts"
)

//go:embed *.lua
var folder embed.FS

// NoToken is the prelude for locks that issue no tokens: '0' stands for none.
const NoToken = "local function issue()\n  return '0'\nend\nlocal own = issue"

// Take is the prelude by which an owner holds a lock that is free.
var Take = scripts.Prelude(folder, "take.lua")

var (
	lone  = scripts.Prelude(folder, "lone.lua")
	queue = scripts.Prelude(folder, "row.lua")
	give  = scripts.Prelude(folder, "give.lua")
)

// Scripts are those of one kind of lock.
type Scripts struct {
	enlist, pass, close, hand *scripts.Script
	tokens                    bool
}

// Load makes the scripts with preludes that define how tokens are issued, and which one an owner that holds
// has. Those in release come first in a release, even of a lone holder, and define the last token that was given;
// if there are any, its last argument is theirs, [Turn.Token].
func Load(release []string, token ...string) Scripts {
	s := Scripts{hand: scripts.Load(folder, "row/handover", token...), tokens: len(release) > 0}
	where := at(2)
	if !s.tokens {
		where, release = at(1), []string{"local given"}
	}
	token = append(token, queue)
	release = slices.Concat(release, []string{where, lone}, token, []string{give})
	s.enlist = scripts.Load(folder, "row/enlist", append([]string{where, Take}, token...)...)
	s.pass, s.close = scripts.Load(folder, "row/pass", release...), scripts.Load(folder, "row/close", release...)
	return s
}

// at is the prelude that says where the row is among the keys: behind so many of the lock.
func at(keys int) string { return fmt.Sprintf("local at = %d", keys+1) }

// used are those keys of the row that a release declares. What only outsiders need, it has when it may leave
// the lock to them.
func used(row []string, outsiders bool) []string {
	if outsiders {
		return row
	}
	return row[:min(len(row), 2)]
}

// Open is, of the keys of a row, the one that is there while the lock is free for outsiders only.
func Open(keys []string) string { return keys[2] }

// An Answer is what a process was told that wants the lock, and otherwise a place in the process queue.
type Answer struct {
	scripts.Attempt
	At   int64 // the server's clock in milliseconds when the entry was made or confirmed; 0: there is none
	Open bool  // the lock is free, but for Remaining only for outsiders
}

// Enlist takes the lock for an owner if it is free, with one hold and the lease as TTL. Else the owner enters
// the process queue, or stays in its place there, and is known to be there for patience. It may ask again and
// again. The keys are those of the lock and, where there is one, its token; row are those of
// keys.LockRowKeys. Without a row the owner does not enter the queue.
//
// With looks the owner cannot be passed the lock, because it wants another lease than a pass gives. When its
// turn comes its process is told to ask.
func (s Scripts) Enlist(keys []string, owner string, lease time.Duration, row []string, patience time.Duration,
	looks bool) scripts.Command[Answer] {
	args := [3]any{owner, scripts.Milliseconds(lease), signed(patience, looks)}
	var all [most]string
	return scripts.Array(s.enlist, join(&all, keys, row[:min(len(row), 3)]), args[:],
		func(reply scripts.Reply) (s Answer, err error) {
			e := reply.Elements()
			outcome := e.Count(0, 2)
			if s.Held = outcome == 1; s.Held {
				s.Token = e.Number()
			} else {
				s.Remaining = e.Time()
			}
			s.At, s.Open = e.Moment(), outcome == 2
			return s, e.End()
		}).Needs(len(keys))
}

// signed is a time in milliseconds, negative if it is of the other kind.
func signed(d time.Duration, other bool) int64 {
	if other {
		return -scripts.Milliseconds(d)
	}
	return scripts.Milliseconds(d)
}

const most = 6 // keys: of a lock, its token, and the row

// join puts the keys together. What they are put into may stay on the caller's stack.
func join(all *[most]string, keys, row []string) []string {
	n := copy(all[:], keys)
	return all[:n+copy(all[n:], row)]
}

// HandOver ends all holds of one owner and has another, fresh one hold in its place, with the lease as TTL and,
// of a lock that issues tokens, the next ones, so many, all above last, the last that the former has. It answers
// that the lock is not held when neither of them held it; then nothing is created, and no token is issued. An
// execution that finds the other holding already is a repetition: it answers the same tokens. It sends no
// message, for the lock was not free.
func (s Scripts) HandOver(keys []string, from, to string, lease time.Duration, last,
	tokens int64) scripts.Command[scripts.Attempt] {
	args := []any{from, to, scripts.Milliseconds(lease), tokens, last + tokens}
	issues := s.tokens
	return scripts.Array(s.hand, keys, args, func(reply scripts.Reply) (scripts.Attempt, error) {
		e := reply.Elements()
		held, last, issued := e.Bool(), e.Number(), e.Number()
		switch err := e.End(); {
		case err != nil || !held:
			return scripts.Attempt{Remaining: -time.Millisecond}, err
		case !issues:
			return scripts.Attempt{Held: true}, nil
		}
		return scripts.Block(last, issued, tokens)
	})
}

// A Turn is what a release says of those who wait.
type Turn struct {
	Row   []string      // keys.LockRowKeys
	Known scripts.Known // of the lock
	Lease time.Duration // of who is passed the lock; 0 to pass it to nobody
	Token int64         // the last of the giver's; 0 for none, and for locks that issue none

	// The rest may be left out.
	Shut      time.Duration // for which it has gone round, without its being free for longer than a moment
	Candidate string        // at the end of a streak: the owner that enters the queue at its end
	Patience  time.Duration // for how long its process is known to be there
	Looks     bool          // that owner cannot be passed the lock
	Open      time.Duration // if outsiders listen, leave the lock free for them, for so long or eight times as long
	Attends   bool          // of a reader: readers that stay leave the lock to outsiders, if any listen
	Whoever   bool          // with Open: leave it free for so long also if none listens, for those that only poll

	Next      string        // fresh owner of the giver's process that is to hold if nobody else waits; empty: none
	NextLease time.Duration // of a read-write lock: 0 if that owner is not to hold
	Block     int64         // how many tokens it is issued
}

// A Release is what became of a lock that was given back.
type Release struct {
	Freed  bool  // the owner held it
	Passed bool  // it is not free: an owner from the queue has it
	Open   bool  // it is free for outsiders only, for Turn.Open
	Longer bool  // for eight times as long
	Told   bool  // it is free, and only one process knows, unless outsiders wait
	At     int64 // with Passed, at the end of a streak: since when, by the server's clock in milliseconds

	Kept scripts.Attempt // with Held: it is not free, for Turn.Next has it
}

// Pass ends all holds of an owner, whatever their number, and has the first in the row hold; when there is
// none it wakes the waiters, unless [Turn.Next] holds then. An owner that held nothing leaves the row. It
// needs no memory, so a full server accepts it. Without a row it is a release whose message is for everybody;
// such a one does without the token too if the owner has none of its own.
func (s Scripts) Pass(keys []string, owner string, wake scripts.Wake, turn Turn) scripts.Command[Release] {
	args := [12]any{owner, wake.Publish, wake.Channel, scripts.Milliseconds(turn.Lease)} // appending would allocate
	n, needs, closes := 4, 1, turn.Candidate != "" || turn.Next != ""
	if closes || turn.Shut != 0 || turn.Open != 0 {
		args[4], args[5] = turn.Shut.Milliseconds(), signed(turn.Open, turn.Whoever)
		n = 6
	}
	if closes {
		args[6], args[7] = turn.Candidate, signed(turn.Patience, turn.Looks)
		args[8], args[9], args[10] = turn.Next, scripts.Milliseconds(turn.NextLease), turn.Block
		n = 11
	}
	if s.tokens {
		args[n] = turn.Token
		n++
		if turn.Token != 0 {
			needs = 2 // the counter is to be looked at
		}
	}
	var all [most]string
	keys = join(&all, keys, used(turn.Row, turn.Open != 0))
	if !closes {
		return scripts.IntegerOf(turn.Known, s.pass, keys, args[:n], Released).Needs(needs)
	}
	tokens, block := s.tokens, turn.Block // captured as they are, s and turn would be allocated in each call
	return scripts.Array(s.close, keys, args[:n], func(reply scripts.Reply) (r Release, err error) {
		e := reply.Elements()
		outcome, at, last, issued := e.Number(), e.Moment(), e.Number(), e.Number()
		if err = e.End(); err != nil {
			return r, err
		}
		if r, err = Released(scripts.Reply{Int: outcome}); r.Passed {
			r.At = at
		}
		if tokens && r.Kept.Held {
			r.Kept, err = scripts.Block(last, issued, block)
		}
		return r, err
	}).Needs(needs)
}

// What a release answers first, whatever the kind of the lock; 0 when the owner held nothing.
const (
	free = iota + 1
	open
	openLonger
	told
	passed
	kept
)

// Released reads what a release answers first.
func Released(reply scripts.Reply) (Release, error) {
	outcome, err := scripts.Count(reply.Int, 0, kept)
	longer := outcome == openLonger
	return Release{Freed: outcome >= free, Open: outcome == open || longer, Longer: longer, Told: outcome == told,
		Passed: outcome == passed, Kept: scripts.Attempt{Held: outcome == kept}}, err
}
