package session

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/reporter"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Reported is an owner of tickets that the registry is told of.
type Reported interface {
	Report(s *reporter.Snapshot)

	// HoldsAs is the key of what the owner holds by an identity, empty if it holds nothing by it.
	HoldsAs(identity string) (key string)

	// Asked is called when somebody asks the owner to give back what it holds.
	Asked(who, why string)
}

// Keep is [watchdog.Watchdog.Keep] for an owner that the registry is told of.
func (s *Session) Keep(t *watchdog.Ticket, o watchdog.Owner, terms watchdog.Terms) {
	s.Watchdog.Keep(t, o, terms)
	s.reporter.Wake()
}

// ReportAtOnce has the client report as soon as something is held or waited for, in place of a second later.
// It is for a program that holds one thing, and of which others see who it is.
func (s *Session) ReportAtOnce() {
	s.reporter.Configure(func(c *reporter.Config) { c.AtOnce = true })
}

// reported are the owners of which the registry is told.
func (s *Session) reported() (owners []Reported) {
	s.Watchdog.Kept(func(o watchdog.Owner) {
		if o, ok := o.(Reported); ok {
			owners = append(owners, o)
		}
	})
	return owners
}

// KeepReporting has the registry told of an owner that the watchdog has forgotten, and that keeps what its
// program has given back. stop ends that.
func (s *Session) KeepReporting(o Reported) (stop func()) {
	s.mu.Lock()
	if s.kept == nil {
		s.kept = map[Reported]struct{}{}
	}
	s.kept[o] = struct{}{}
	s.mu.Unlock()
	s.reporter.Wake()
	return func() {
		s.mu.Lock()
		delete(s.kept, o)
		s.mu.Unlock()
	}
}

// keepers are the owners that keep what their programs have given back.
func (s *Session) keepers() []Reported {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.kept))
}

// look takes a snapshot.
func (s *Session) look(shot *reporter.Snapshot) {
	for _, o := range append(s.reported(), s.keepers()...) {
		o.Report(shot)
	}
	for _, in := range s.Cohorts.All() {
		if in.Users > 0 {
			shot.Busy()
		}
		waiters, since := in.Cohort.Oldest()
		if at := placeOf(in.Cohort.Kind, in.Key); at.Kind != "" && (waiters > 0 || shot.Holds(at)) {
			shot.Wait(at, int64(waiters), watchdog.MomentOf(since), in.Waits, in.Waited)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, q := range s.queues {
		if q.users > 0 {
			shot.Busy()
		}
		if waiters, since := q.Oldest(); waiters > 0 {
			shot.Wait(placeOf(key.Kind(), key), int64(waiters), watchdog.MomentOf(since), 0, 0)
		}
	}
}

func placeOf(kind string, key cohort.Key) reporter.Place {
	return reporter.Place{Kind: kind, Key: key.Name()}
}

// written is a message as the script takes it.
func (s *Session) written(m reporter.Message, ended bool) entry.Report {
	r := entry.Report{Names: entry.NamesOf(m.To.Prefix, s.ID), TTL: m.TTL, Whole: m.Whole, Age: age()}
	if m.Whole {
		about := s.about(m.To.Label)
		about.Ended = ended
		r.About = about.JSON()
	}
	for _, place := range m.Removed {
		r.Removed = append(r.Removed, registry.Thing{Kind: place.Kind, Key: place.Key}.Field())
	}
	now := watchdog.MomentOf(clock.Now())
	for _, t := range m.Things {
		thing := entry.Thing{
			Field: registry.Thing{Kind: t.Kind, Key: t.Key}.Field(),
			Holds: t.Holds, Held: time.Duration(now - t.Held), Waiters: t.Waiters,
			Waiting: time.Duration(now - t.Waiting),
			Waits:   t.Waits, Waited: t.Waited,
		}
		for _, o := range t.Owners {
			thing.Owners = append(thing.Owners, entry.Owner{ID: o.ID, Held: time.Duration(now - o.Since), Kept: o.Kept})
		}
		r.Things = append(r.Things, thing)
	}
	return r
}

// report sends a message.
func (s *Session) report(m reporter.Message) reporter.Answer {
	r := s.written(m, false)
	reply, err := once(s, entry.Write(r))
	if err != nil {
		return reporter.Answer{Outcome: s.refused(err)}
	}
	s.refusing = false
	if !reply.Written {
		return reporter.Answer{Outcome: reporter.Gone}
	}
	if reply.Nonsense && !s.nonsense {
		s.nonsense = true
		Logger(s.logger).Warn("redlatch: the key where others ask for what this client holds has something that makes "+
			"no sense. It is passed over "+
			"and left as it is; until it is deleted, the holders may not hear who asks", "key", r.Asked)
	}
	return reporter.Answer{Outcome: reporter.Written, Entries: reply.Entries, Watched: reply.Watched,
		Asked: reply.Asked}
}

// unlist removes the entry, and tells whether another try is of no use.
func (s *Session) unlist(c reporter.Config) bool {
	_, err := once(s, entry.Remove(entry.NamesOf(c.Prefix, s.ID)))
	return err == nil || stays(err)
}

// Retire removes the client's entry from the registry, for a program that has given everything back and ends
// now. Nothing is reported any more. It waits no longer than a report may take; an entry that stays, or that
// a report under way writes after it, ends by itself.
func (s *Session) Retire() {
	c, listed := s.reporter.Retire()
	if !listed {
		return
	}
	ctx, cancel := context.WithTimeout(raise.Background(context.Background(), Logger(s.logger)), reportWithin)
	defer cancel()
	// not by unlist, whose state belongs to the goroutine of the reports
	cmd := entry.Remove(entry.NamesOf(c.Prefix, s.ID))
	_ = s.Dispatch.Do(ctx, cmd.Key(), cmd.Cmder(context.Background(), true), dispatch.Follow)
}

// Leave is for a program that ends now and leaves what it holds to its leases: its entry says so, and stays
// for as long and ten minutes. It waits no longer than a report may take.
func (s *Session) Leave() {
	ctx, cancel := context.WithTimeout(raise.Background(context.Background(), Logger(s.logger)), reportWithin)
	defer cancel()
	for _, m := range s.reporter.Leave() {
		cmd := entry.Write(s.written(m, true)) // not by once, whose state belongs to the goroutine of the reports
		_ = s.Dispatch.Do(ctx, cmd.Key(), cmd.Cmder(context.Background(), true), dispatch.Follow)
	}
}

// reportWithin is how long a report may take. No call waits for it.
const reportWithin = time.Second

// errHangs is why nothing is sent: of all connections of the client, reports have one.
var errHangs = &outcome.Unsent{Err: errors.New("the report before has no answer yet")}

// once sends a command without regard to its outcome: it is not sent again, no other script is narrowed
// because of it, and no other primary is looked for. Only the hash of the script may be unknown to the
// server.
func once[R any](s *Session, cmd scripts.Command[R]) (reply R, err error) {
	if s.reporting != nil && !s.reporting.Ended() {
		return reply, errHangs
	}
	s.reporting = nil
	ctx, cancel := context.WithTimeout(raise.Background(context.Background(), Logger(s.logger)), reportWithin)
	defer cancel()
	for _, withSource := range []bool{false, true} {
		send := cmd.Cmder(context.Background(), withSource)
		err = s.Dispatch.Do(ctx, cmd.Key(), send, dispatch.Follow)
		if outcome.Of(err) == outcome.NoScript {
			continue
		}
		if err != nil {
			errors.As(err, &s.reporting)
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
func (s *Session) refused(err error) reporter.Outcome {
	switch {
	case errors.Is(err, redis.ErrClosed):
		return reporter.Barred
	case outcome.Forbidden(err):
		s.silent("until the program is started anew", err)
		return reporter.Barred
	case stays(err):
		s.silent("for ten minutes", err)
		return reporter.Refused
	}
	switch outcome.Of(err) {
	case outcome.NotYet, outcome.Full, outcome.Unknown:
	default: // a replica, or out of memory
		if !s.refusing {
			s.silent("for now", err)
		}
		s.refusing = true
	}
	return reporter.Unknown
}

// stays tells whether a report that is sent later will have the same error.
func stays(err error) bool {
	return outcome.Final(err) || outcome.Forbidden(err) || errors.As(err, new(*senseless))
}

func (s *Session) silent(until string, err error) {
	Logger(s.logger).Warn("redlatch: what this client holds is not reported to the registry "+until+
		", because Redis refuses it; locks do not depend on it, and WithoutRegistry turns it off", "error", err)
}
