package listing

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/reporter"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// written is a message as the script takes it.
func (l *Listing) written(m reporter.Message, ended bool) entry.Report {
	r := entry.Report{Names: entry.NamesOf(m.To.Prefix, l.session.ID), TTL: m.TTL, Whole: m.Whole, Age: age()}
	if m.Whole {
		about := aboutOf(l.session, m.To.Label)
		about.Ended = ended
		r.About = about.JSON()
	}
	for _, place := range m.Removed {
		r.Removed = append(r.Removed, registry.Thing{Kind: place.Kind, Key: place.Key}.Field())
	}
	now := watchdog.MomentOf(clock.Now())
	for _, t := range m.Things {
		thing := registry.Thing{Kind: t.Kind, Key: t.Key, Holds: t.Holds, Waiters: t.Waiters, Waits: t.Waits,
			Waited: scripts.Milliseconds(t.Waited)}
		if t.Holds > 0 {
			thing.HeldSince = entry.Ago(time.Duration(now - t.Held))
		}
		if t.Waiters > 0 {
			thing.WaitingSince = entry.Ago(time.Duration(now - t.Waiting))
		}
		for _, o := range t.Owners {
			thing.Owners = append(thing.Owners,
				registry.Owner{ID: o.ID, Since: entry.Ago(time.Duration(now - o.Since)), Kept: o.Kept})
		}
		r.Things = append(r.Things, thing)
	}
	return r
}

// report sends a message.
func (l *Listing) report(m reporter.Message) reporter.Answer {
	r := l.written(m, false)
	reply, err := once(l, entry.Write(r))
	if err != nil {
		return reporter.Answer{Outcome: l.refused(err)}
	}
	l.refusing = false
	if !reply.Written {
		return reporter.Answer{Outcome: reporter.Gone}
	}
	if reply.Nonsense && !l.nonsense {
		l.nonsense = true
		l.log.Warn("redlatch: the key where others ask for what this client holds has something that makes no sense. "+
			"It is passed over and left as it is; until it is deleted, the holders may not hear who asks", "key", r.Asked)
	}
	return reporter.Answer{Outcome: reporter.Written, Entries: reply.Entries, Watched: reply.Watched,
		Asked: reply.Asked}
}

// unlist removes the entry, and tells whether another try is of no use.
func (l *Listing) unlist(c reporter.Config) bool {
	_, err := once(l, entry.Remove(entry.NamesOf(c.Prefix, l.session.ID)))
	return err == nil || stays(err)
}

// Retire removes the client's entry from the registry, for a program that has given everything back and ends
// now. Nothing is reported any more. It waits no longer than a report may take; an entry that stays, or that
// a report under way writes after it, ends by itself.
func (l *Listing) Retire() {
	if c, listed := l.reporter.Retire(); listed {
		ctx, cancel := l.session.Background(reportWithin)
		defer cancel()
		last(ctx, l, entry.Remove(entry.NamesOf(c.Prefix, l.session.ID)))
	}
}

// Leave is for a program that ends now and leaves what it holds to its leases: its entry says so, and stays
// for as long and ten minutes. It waits no longer than a report may take.
func (l *Listing) Leave() {
	ctx, cancel := l.session.Background(reportWithin)
	defer cancel()
	for _, m := range l.reporter.Leave() {
		last(ctx, l, entry.Write(l.written(m, true)))
	}
}

// last sends a command of a program that ends, with its source. It is not sent by once, whose state belongs to
// the goroutine of the reports.
func last[R any](ctx context.Context, l *Listing, cmd scripts.Command[R]) {
	_ = l.session.Dispatch.Do(ctx, cmd.Key(), cmd.Cmder(context.Background(), true), dispatch.Follow)
}

// reportWithin is how long a report may take. No call waits for it.
const reportWithin = time.Second

// errHangs is why nothing is sent: of all connections of the client, reports have one.
var errHangs = &outcome.Unsent{Err: errors.New("the report before has no answer yet")}

// once sends a command without regard to its outcome: it is not sent again, no other script is narrowed
// because of it, and no other primary is looked for. Only the hash of the script may be unknown to the
// server.
func once[R any](l *Listing, cmd scripts.Command[R]) (reply R, err error) {
	if l.reporting != nil && !l.reporting.Ended() {
		return reply, errHangs
	}
	l.reporting = nil
	ctx, cancel := l.session.Background(reportWithin)
	defer cancel()
	for _, withSource := range []bool{false, true} {
		send := cmd.Cmder(context.Background(), withSource)
		err = l.session.Dispatch.Do(ctx, cmd.Key(), send, dispatch.Follow)
		if outcome.Of(err) == outcome.NoScript {
			continue
		}
		if err != nil {
			errors.As(err, &l.reporting)
			return reply, err
		}
		if reply, err = cmd.Read(send); err != nil {
			err = &senseless{err}
		}
		break
	}
	return reply, err
}

// senseless is the error of a reply that is none of the script's: something other than Redis has answered.
type senseless struct{ error }

// refused tells what follows from an error. The log has one line for as long as a server refuses, and none
// about one that cannot take any command for now: it starts, or a long script runs.
func (l *Listing) refused(err error) reporter.Outcome {
	switch {
	case errors.Is(err, redis.ErrClosed):
		return reporter.Barred
	case outcome.Forbidden(err):
		l.silent("until the program is started anew", err)
		return reporter.Barred
	case stays(err):
		l.silent("for ten minutes", err)
		return reporter.Refused
	}
	switch outcome.Of(err) {
	case outcome.NotYet, outcome.Full, outcome.Unknown:
	default: // a replica, or out of memory
		if !l.refusing {
			l.silent("for now", err)
		}
		l.refusing = true
	}
	return reporter.Unknown
}

// stays tells whether a report that is sent later will have the same error.
func stays(err error) bool {
	return outcome.Final(err) || outcome.Forbidden(err) || errors.As(err, new(*senseless))
}

func (l *Listing) silent(until string, err error) {
	l.log.Warn("redlatch: what this client holds is not reported to the registry "+until+
		", because Redis refuses it; locks do not depend on it, and WithoutRegistry turns it off", "error", err)
}
