package session

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Renewer is an owner of tickets that knows the script by which its kind is renewed.
type Renewer interface {
	// Renewal is a script for the first n of the tickets of one batch, for all of them if that is not too
	// much work for one. It answers for each whether it is still its owner's.
	Renewal(tickets []*watchdog.Ticket) (cmd scripts.Command[scripts.Kept], n int)
	// Gone is told, before the watchdog is, that the renewal has not found what the owner holds, and has
	// looked for a notice: who has taken it by force, and why, empty if there is none.
	Gone(forced string)
	// Log is where trouble with the renewal is told, with the name of what is held.
	Log() *slog.Logger

	// Renewed is told of each renewal when it was sent and what came of it: nil for an answer, else why there
	// is none. The call may come when nothing is held any more.
	Renewed(sent time.Time, err error)
}

// Keep is [watchdog.Watchdog.Keep] for an owner that the registry is told of.
func (s *Session) Keep(t *watchdog.Ticket, o watchdog.Owner, terms watchdog.Terms) {
	s.Watchdog.Keep(t, o, terms)
	s.tellListing()
}

// BatchOf is the batch of a key that is renewed by scripts of a kind. It does not ask the network: what is
// held was acquired by the topology that is known.
func (s *Session) BatchOf(kind, key string) watchdog.Batch {
	b := watchdog.Batch{Kind: kind, Shard: s.Shard(key)}
	if !s.cluster.Load() {
		return b
	}
	b.Server = b.Shard // where a wrapper hides its masters, a hung one must not hold up the slots of the others
	if s.topology != nil {
		if master, err := s.topology.MasterForKey(context.Background(), key); err == nil {
			b.Server = master
		}
	}
	return b
}

// renew sends what is due at one server, on this goroutine, in one round trip, by a connection of its own: it
// must not stand in a queue behind a command that hangs. After most failures the watchdog sends again, by its
// own clock, to the server that is the master by then. Four failures are dealt with here: the server does not
// know a script, has not the slot any more, has only some of the names in a slot that moves, which are then
// renewed one by one and without their notices, or the user has no right to the notices. A plain client may
// have the single address of a cluster, as of a serverless one or a proxy. Each script that is sent again has
// keys of one slot.
func (s *Session) renew(ctx context.Context, due []watchdog.Script, answer func(script int, alive []bool, err error)) {
	sent := time.Now()
	failed, alives := make([]error, len(due)), make([][]bool, len(due))
	s.renewAll(ctx, due, func(script int, alive []bool, err error) {
		answer(script, alive, err)
		failed[script], alives[script] = err, alive
	})
	for script, d := range due { // when all is answered: an observer may take long, or end this goroutine
		for i, t := range d.Tickets {
			if err := failed[script]; err != nil || alives[script][i] {
				t.Owner().(Renewer).Renewed(sent, err)
			}
		}
	}
}

// renewAll is renew without a word to the owners.
func (s *Session) renewAll(ctx context.Context, due []watchdog.Script,
	answer func(script int, alive []bool, err error)) {
	var server dispatch.Client = s.Client
	if master, ok := due[0].Batch.Server.(*redis.Client); ok {
		server = master
	}
	parts := make([][]*renewal, len(due)) // of each script
	var all []*renewal
	for i, d := range due {
		parts[i] = s.renewals(d.Tickets)
		all = append(all, parts[i]...)
	}
	if raised := flush(ctx, server, all); raised != nil {
		defer raised.Log(all[0].owner.Log()) // after all answers: a log handler may take long, or end this goroutine
	}

	var again []*renewal
	var open []int
	moved, unreached := false, false
	for i := range parts {
		refused := false
		sent := parts[i]
		parts[i] = nil
		for _, r := range sent {
			if outcome.Apart(r.err) {
				for n := range r.tickets {
					one := s.renewals(r.tickets[n : n+1])[0]
					one.narrow(true)
					one.source = true // the other server may not know the script
					parts[i], again = append(parts[i], one), append(again, one)
				}
				refused, moved = true, true
				continue
			}
			parts[i] = append(parts[i], r)
			if outcome.NoRight(r.err) && r.narrow(false) {
				s.Dispatch.Narrowed(r.cmd.Script(), r.err, true)
				refused, again = true, append(again, r)
				continue
			}
			switch outcome.Of(r.err) {
			case outcome.Moved:
				// The other server may have all but the notices, which are mostly not there, and refuse the
				// script
				r.narrow(true)
				moved = true
			case outcome.NoScript:
			case outcome.Hopeless, outcome.Cut:
				if outcome.CrossSlot(r.err) {
					s.slotted.Store(true)
				}
				continue
			case outcome.NotYet, outcome.Unknown:
				// A send that waits for a connection fails by the end of ctx too, and that says nothing about
				// the master. This is read before the answers are given, because the last of them ends ctx.
				unreached = unreached || ctx.Err() == nil
				continue
			default:
				continue
			}
			refused, r.source = true, true
			again = append(again, r)
		}
		if refused {
			open = append(open, i)
			continue
		}
		answer(joined(i, parts[i]))
	}
	if moved || unreached { // the next send is to go to the successor, and a process that only holds sends nothing else
		s.Dispatch.Reload(ctx)
	}
	if len(open) == 0 {
		return
	}
	if moved {
		server = s.Client // which follows redirections
	}
	if raised := flush(ctx, server, again); raised != nil {
		defer raised.Log(again[0].owner.Log())
	}
	for _, i := range open {
		answer(joined(i, parts[i]))
	}
}

// A renewal is one script on its way.
type renewal struct {
	owner   Renewer // of the first ticket
	tickets []*watchdog.Ticket
	cmd     scripts.Command[scripts.Kept]
	source  bool // it is sent with its source
	parted  bool // it is sent without the notices, which another server may have
	kept    scripts.Kept
	err     error
}

func (s *Session) renewals(tickets []*watchdog.Ticket) (parts []*renewal) {
	for len(tickets) > 0 {
		owner := tickets[0].Owner().(Renewer)
		cmd, n := owner.Renewal(tickets)
		if s.Dispatch.Narrow(cmd.Script()) {
			cmd, _ = cmd.Narrow(false)
		}
		parts = append(parts, &renewal{owner: owner, tickets: tickets[:n], cmd: cmd})
		tickets = tickets[n:]
	}
	return parts
}

// narrow takes from the command the keys that it can do without, and tells whether it had any.
func (r *renewal) narrow(moving bool) (ok bool) {
	r.cmd, ok = r.cmd.Narrow(moving)
	r.parted = r.parted || moving
	return ok
}

// tell has the owners that are gone know of their notices.
func (r *renewal) tell() {
	if r.err != nil || !r.kept.Looked || r.parted {
		return
	}
	for i, alive := range r.kept.Alive {
		if alive {
			continue
		}
		forced := ""
		if n, err := notice.Parse(r.kept.Notices[i]); err == nil {
			forced = n.String()
		}
		r.tickets[i].Owner().(Renewer).Gone(forced)
	}
}

// joined puts together the answers of the parts in which a script of the watchdog was sent: several if its
// tickets stand for many permits. The owners that are gone hear of their notices before.
func joined(script int, parts []*renewal) (int, []bool, error) {
	for _, r := range parts {
		r.tell()
	}
	if len(parts) == 1 {
		return script, parts[0].kept.Alive, parts[0].err
	}
	var alive []bool
	for _, r := range parts {
		if r.err != nil {
			return script, nil, r.err
		}
		alive = append(alive, r.kept.Alive...)
	}
	return script, alive, nil
}

// flush sends each renewal once, all in one round trip. If a hook of the client panics, all of them fail.
func flush(ctx context.Context, server dispatch.Client, all []*renewal) (raised *raise.Panic) {
	sends := make([]redis.Cmder, len(all))
	for i, r := range all {
		sends[i] = r.cmd.Cmder(ctx, r.source)
	}
	raised = dispatch.Direct(ctx, server, sends)
	for i, r := range all {
		if r.err = sends[i].Err(); r.err == nil {
			r.kept, r.err = r.cmd.Read(sends[i])
		}
	}
	return raised
}
