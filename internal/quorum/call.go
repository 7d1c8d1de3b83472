package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Composite is a lock that stands on several.
type Composite struct {
	Kind     redlatch.Kind
	Name     string
	Need     int                // fewer members are a loss
	Of       redlatch.Inspector // itself, which is asked who holds it, for a call that waits for long
	Bases    []*baselock.Base   // of the members; nil for one that cannot be handed on
	Line     cohort.Key         // where the calls of this process wait for all members
	Defaults settings.Settings  // of New
	Invalid  error              // what is wrong with the arguments of New; every call reports it

	Offers bool // members for which calls of this process wait are given back so that outsiders have their turn
}

// A Call is one Lock or TryLock of a composite.
type Call struct {
	*Composite
	Set  *settings.Settings
	Opts []redlatch.Option // of the call, for a member that does not wait; none if the call has none
	Try  bool              // it asks once
}

// Call is one with these options, which check has to find right.
func (c *Composite) Call(opts []redlatch.Option, try bool, check func(set *settings.Settings) error) (Call, error) {
	switch {
	case c.Invalid != nil:
		return Call{}, c.Invalid
	case len(opts) == 0:
		return Call{Composite: c, Set: &c.Defaults, Try: try || c.Defaults.Once}, nil
	}
	set := rootapi.Apply(c.Defaults.ForCall(), opts)
	if err := check(&set); err != nil {
		return Call{}, err
	}
	if try && set.Given(settings.Wait) {
		return Call{}, errs.Wrong("TryLock does not wait, so WithWait does not apply; use Lock with WithWait")
	}
	return Call{Composite: c, Set: &set, Try: try || set.Once}, nil
}

// Take has acquire make the hold, within the time of WithWait, and has the observer know what came of it.
func (c *Call) Take(ctx context.Context, acquire func(ctx context.Context) (*Hold, error)) (*redlatch.Hold, error) {
	set := c.Set
	if set.Recognize != nil {
		set.Recognize(c.recognizes)
		return nil, errRecognized
	}
	call := observe.Begin(ctx, set, c, c.Kind, c.Name, 0)
	defer call.Left()

	if call != nil {
		ctx = call.Context
	}
	within, cancel := set.Waiting(ctx, c.Try)
	defer cancel()
	inner, err := acquire(within)
	if err != nil {
		err = c.refused(err)
		call.Refused(err)
		return nil, err
	}
	inner.tell(ctx, call)
	// Above are take and Lock of the composite.
	return rootapi.Hold[*redlatch.Hold](inner, holds.Acquired(inner, 2)), nil
}

// errRecognized is the error of a call that takes nothing.
var errRecognized = errors.New("redlatch: the lock was only asked for its holds")

// recognizes tells whether inner is a hold of this composite that is in force.
func (c *Call) recognizes(inner any) bool {
	h, ok := inner.(*Hold)
	return ok && h.call.Kind == c.Kind && (h.call.Of == c.Of || h.call.Line == c.Line && c.Line != cohort.Key{}) &&
		h.kept()
}

// Look asks who holds the members.
func (c *Call) Look(ctx context.Context) (redlatch.Info, error) { return c.Of.Inspect(ctx) }

// Sessions are those of the members.
func (c *Call) Sessions() []*session.Session {
	all := make([]*session.Session, len(c.Bases))
	for i, b := range c.Bases {
		if b != nil {
			all[i] = b.Session
		}
	}
	return all
}

// Itself is the composite.
func (c *Call) Itself() any { return c.Of }

var _ observe.Subject = (*Call)(nil)

// Carries tells whether ctx carries one of the locks, so that waiting behind others would be waiting for
// itself.
func (c *Call) Carries(ctx context.Context) bool {
	return slices.ContainsFunc(c.Bases, func(b *baselock.Base) bool { return locking.Carries(ctx, b) })
}

// Streak is one that begins with a hold of the call.
func (c *Call) Streak(before Before) *Streak {
	s := &Streak{Streak: composite.Streak(c.Bases, before.Alone)}
	s.Began, s.ClosedSince = clock.Now(), before.Kept
	return s
}

// registry is where the calls of this process wait for all members, in the cohort of c.Line.
func (c *Call) registry() *cohort.Registry { return &c.Bases[0].Session.Cohorts }

// Request is what the call says to the holds of this process, one of which may be handed on to it. held: one
// of them is in force.
func (c *Call) Request(held bool) *cohort.Request {
	return &cohort.Request{Who: c, Expected: held, Poll: c.Poll()}
}

// Poll is how long the call sleeps when it expects to be given the locks.
func (c *Call) Poll() time.Duration { return cohort.Bound(-1, c.Set.Poll) }

// what is how texts call the composite.
func (c *Call) what() string { return fmt.Sprintf("%s %q", c.Kind.Noun(), errs.Short(c.Name)) }

// Log is for errors in the background; nil where the program wants none.
func (c *Call) Log() *slog.Logger {
	if c.Set.Logger == nil {
		return nil
	}
	return c.Set.Logger.With("lock.name", errs.Short(c.Name), "lock.primitive", c.Kind)
}
