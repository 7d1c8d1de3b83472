// Package counter is what semaphores and latch share: operations on a number in Redis that nobody owns, so
// that each has to take effect exactly once however often its command is executed.
//
// An operation borrows a lane (see scripts/lane) and carries a number in it. Resending is then harmless. Of
// an operation that did not come to a known end the lane stays lent until it is settled in the background: an
// acquisition is undone, a release is carried through, and anything else is fenced, so that it cannot take
// effect later.
//
// Those of a process who wait for one counter stand in line, and only the first of them asks: for itself and,
// in the same script, for those behind it. The script serves them in order until one comes for whom there is
// not enough.
//
//	             asked for               served
//	behind head ───────────► in a batch ────────► served ── has left meanwhile ──► its share is given back
//	     ▲                       │
//	     └───────────────────────┘ not served; or it is not known, and then the whole batch is undone
//
// Whoever is in a batch waits as before and may leave at any time. The head's context is that of the script:
// when it ends the batch is undone, whoever is first then asks anew. A batch that a process dies with is as
// if each had asked alone: what plain permits were granted is gone as if it had been held, and leased ones
// come back with their leases.
package counter

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Counter is one counter of one client.
type Counter struct {
	Name    string
	Key     string
	Session *session.Session

	// Inspector is asked who has what it counts, for a call that waits for long; nil: the counter is.
	Inspector redlatch.Inspector

	// Size is what the semaphore is set up with where it is missing; nil: nothing is set up.
	Size *lane.Size

	kind     redlatch.Kind
	channel  string // empty where nobody waits
	row      string // of the processes that wait; empty: there is none, and permits do not move
	line     cohort.Key
	defaults *settings.Settings
	takes    settings.Option // of New
	notes    notes
	invalid  error // what is wrong with the name or the options of New; every call reports it

	lately atomic.Int32 // how many the last attempt served that was not in vain; 0 when there was none
}

// New makes a counter. takes are the options that make sense in New.
func New(client redlatch.Client, name string, kind redlatch.Kind, channel func(key string) string,
	takes settings.Option, opts []redlatch.Option) *Counter {
	set := rootapi.For(opts)
	c := &Counter{Name: name, Session: session.Of(client, set), kind: kind, defaults: set, takes: takes, Size: sizeOf(set)}
	c.Key, c.invalid = c.Session.KeyOf(name, set)
	if err := set.Check("a "+kind.Noun(), takes); err != nil {
		c.invalid = err
	}
	c.line = cohort.KeyFor(c.Key, string(kind))
	if channel != nil {
		c.channel = channel(c.Key)
	}
	return c
}

// WithRow has those who wait for the counter stand in a row, so that what is given back wakes one process and
// not all.
func (c *Counter) WithRow(row func(key string) string) *Counter {
	c.row = row(c.Key)
	return c
}

// Resolve adds the options of one call, which takes only some.
func (c *Counter) Resolve(call string, takes settings.Option, opts []redlatch.Option) (*settings.Settings, error) {
	if c.invalid != nil {
		return nil, c.invalid
	}
	if len(opts) == 0 {
		return c.defaults, nil
	}
	set := rootapi.Apply(c.defaults.ForCall(), opts)
	if err := set.Check(call, takes|c.ofNew()); err != nil {
		return nil, err
	}
	return &set, nil
}

// Defaults are the settings of a call that has no options.
func (c *Counter) Defaults() *settings.Settings { return c.defaults }

// Wake is the message by which this counter wakes its waiters.
func (c *Counter) Wake(ctx context.Context) (scripts.Wake, error) {
	return c.wakeFor(ctx, c.defaults.OutageFor(false))
}

// wakeFor is Wake for a call with an outage of its own, through which a cluster may have to be asked which
// command it is.
func (c *Counter) wakeFor(ctx context.Context, outage time.Duration) (scripts.Wake, error) {
	return c.wake(ctx, outage, (*session.Session).PublishFor)
}

// WakeWithin is Wake for what has to happen although ctx may have ended.
func (c *Counter) WakeWithin(ctx context.Context, d time.Duration) (scripts.Wake, error) {
	return c.wake(ctx, d, (*session.Session).PublishWithin)
}

func (c *Counter) wake(ctx context.Context, d time.Duration,
	command func(*session.Session, context.Context, time.Duration) (string, error)) (scripts.Wake, error) {
	if c.invalid != nil || c.channel == "" {
		return scripts.Wake{}, c.invalid
	}
	publish, err := command(c.Session, ctx, d)
	if err != nil {
		return scripts.Wake{}, c.broken(err)
	}
	if publish == session.Sharded && keys.Slot(c.channel) != keys.Slot(c.Key) {
		return scripts.Wake{}, errs.Wrong("%s %q: on a cluster with sharded channels its name cannot have braces, because "+
			"its channel %q falls into another slot; choose a name without", c.kind.Noun(), c.Name, c.channel)
	}
	wake := scripts.Wake{Publish: publish, Channel: c.channel}
	if c.Session.KnowsListeners() {
		wake.Row = c.row
	}
	return wake, nil
}

// fits is the error of a name that cannot be used. Who only reads would find nothing there, which is an open
// latch. It asks nothing of those whose channel and key are in one slot.
func (c *Counter) fits(ctx context.Context, outage time.Duration) error {
	if c.channel == "" || keys.Slot(c.channel) == keys.Slot(c.Key) {
		return nil
	}
	_, err := c.wakeFor(ctx, outage)
	return err
}

// broken is an error of the server or the network, with the counter's name.
func (c *Counter) broken(err error) error {
	return fmt.Errorf("redlatch: %s %q: %w", c.kind.Noun(), c.Name, outcome.Advise(c.Session.Dialing(err)))
}

// Ask reads something for a query.
func Ask[R any](ctx context.Context, c *Counter, cmd scripts.Command[R]) (reply R, err error) {
	if c.invalid != nil {
		return reply, c.invalid
	}
	outage := c.defaults.OutageFor(false)
	if err := c.fits(ctx, outage); err != nil {
		return reply, err
	}
	if reply, err = Send(ctx, c, cmd, outage); err != nil {
		return reply, c.broken(err)
	}
	return reply, nil
}

// Send sends what may be executed any number of times, for a caller that explains errors itself.
func Send[R any](ctx context.Context, c *Counter, cmd scripts.Command[R], outage time.Duration) (R, error) {
	reply, _, err := delivery.Deliver(ctx, c.Session.Dispatch, cmd, delivery.Limit{Outage: outage})
	return reply, err
}

// Inspect reads what can be seen of any counter.
func (c *Counter) Inspect(ctx context.Context) (redlatch.Info, error) {
	look, err := Ask(ctx, c, lane.Inspect(c.Key))
	if err != nil {
		return redlatch.Info{}, err
	}
	info := c.Info()
	info.Exists, info.Value, info.TTL = look.Exists, look.Value, look.TTL
	return info, nil
}

// Look asks who has what it counts.
func (c *Counter) Look(ctx context.Context) (redlatch.Info, error) {
	if c.Inspector != nil {
		return c.Inspector.Inspect(ctx)
	}
	return c.Inspect(ctx)
}

// Sessions is the one of the counter.
func (c *Counter) Sessions() []*session.Session { return []*session.Session{c.Session} }

// Itself is the counter.
func (c *Counter) Itself() any { return c }

var _ observe.Subject = (*Counter)(nil)

// Info is what is known without asking Redis.
func (c *Counter) Info() redlatch.Info {
	return redlatch.Info{Name: c.Name, Key: c.Key, Kind: c.kind,
		Waiters: int64(c.Session.Cohorts.WaitersFor(c.Key, string(c.kind)))}
}
