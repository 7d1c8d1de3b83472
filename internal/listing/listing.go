// Package listing keeps the entry of one client in the registry, by which other processes see what it holds
// and waits for. It tells the owners of a client that others ask for what they hold, and asks what another
// client has said of itself. Package reporter decides when there is something to write, and package registry
// has the format.
//
// A session knows its listing as a [session.Listing] alone: it wakes it, and hands it what Configure says.
// Other packages ask the listing itself, which Of finds. The root package plugs New into package session.
package listing

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/reporter"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Listing is that of one client.
type Listing struct {
	session  *session.Session
	reporter *reporter.Reporter
	log      *slog.Logger

	// These belong to the goroutine of the reports, which sends one at a time.

	reporting *dispatch.InFlight // the report that has had no answer in time
	refusing  bool               // the last report was refused for now, and the log has a line
	nonsense  bool               // the log has a line about what makes no sense at the key of the requests

	mu   lockorder.Mutex[lockorder.Listing]
	kept map[Reported]struct{} // see Keep; nil until there is one
	said map[asking]string     // see isNew
}

// A Reported is an owner of tickets that the registry is told of.
type Reported interface {
	Report(s *reporter.Snapshot)

	// HoldsAs is the key of what the owner holds by an identity, empty if it holds nothing by it.
	HoldsAs(identity string) (key string)

	// Asked is called when another program asks the owner to give back what it holds.
	Asked(who, why string)
}

// New makes the listing of a session.
func New(s *session.Session) session.Listing {
	l := &Listing{session: s, log: session.Logger(s.Log)}
	l.reporter = reporter.New(reporter.Functions{Look: l.look, Send: l.report, Remove: l.unlist, Linger: s.Linger,
		Asked: l.askedFor, Awake: &s.Listed})
	l.Heed(session.Registry{}) // where the program says nothing
	return l
}

// Of is the listing of a session.
func Of(s *session.Session) *Listing { return s.Listing.(*Listing) }

// Wake is called when something begins to be held or waited for.
func (l *Listing) Wake() { l.reporter.Wake() }

// Heed has the listing go by what Configure says of the client. The environment can switch the registry off,
// whatever that is.
func (l *Listing) Heed(said session.Setting) {
	l.reporter.Configure(func(c *reporter.Config) {
		switch said := said.(type) {
		case session.Label:
			c.Label = string(said)
		case session.Registry:
			c.Prefix, c.Off = said.Prefix, said.Off || os.Getenv("REDLATCH_REGISTRY") == "off"
		}
	})
}

// AtOnce has the client report as soon as something is held or waited for, in place of a second later. It is
// for a program that holds one thing, for a short time, and is to have a name meanwhile.
func (l *Listing) AtOnce() { l.reporter.Configure(func(c *reporter.Config) { c.AtOnce = true }) }

// Keep has the registry told of an owner that the watchdog has forgotten, and that keeps what its program has
// given back. stop ends that.
func (l *Listing) Keep(o Reported) (stop func()) {
	l.mu.Lock()
	if l.kept == nil {
		l.kept = map[Reported]struct{}{}
	}
	l.kept[o] = struct{}{}
	l.mu.Unlock()
	l.Wake()
	return func() {
		l.mu.Lock()
		delete(l.kept, o)
		l.mu.Unlock()
	}
}

// owners are those of what the client holds.
func (l *Listing) owners() (owners []Reported) {
	l.session.Watchdog.Kept(func(o watchdog.Owner) {
		if o, ok := o.(Reported); ok {
			owners = append(owners, o)
		}
	})
	return owners
}

// look takes a snapshot.
func (l *Listing) look(shot *reporter.Snapshot) {
	l.mu.Lock()
	kept := slices.Collect(maps.Keys(l.kept))
	l.mu.Unlock()
	for _, o := range append(l.owners(), kept...) {
		o.Report(shot)
	}
	for _, in := range l.session.Cohorts.All() {
		if in.Users > 0 {
			shot.Busy()
		}
		waiters, since := in.Cohort.Oldest()
		if at := placeOf(in.Cohort.Kind, in.Key); at.Kind != "" && (waiters > 0 || shot.Holds(at)) {
			shot.Wait(at, int64(waiters), watchdog.MomentOf(since), in.Waits, in.Waited)
		}
	}
	l.session.EachQueue(func(key cohort.Key, waiters int, since time.Time) {
		shot.Busy()
		if waiters > 0 {
			shot.Wait(placeOf(key.Kind(), key), int64(waiters), watchdog.MomentOf(since), 0, 0)
		}
	})
}

func placeOf(kind string, key cohort.Key) reporter.Place {
	return reporter.Place{Kind: kind, Key: key.Name()}
}
