// Package counter is what semaphores and latches share: operations on a number in Redis. The number says how
// many permits or counts are left, and not which call has them. So a script cannot tell from the number
// whether it was executed before, and each operation has to take effect exactly once however often its
// command is executed.
//
// # Nouns
//
// An operation is one change of the number. A lane is a place in Redis where the server remembers one
// operation, the latest there, and its answer (see scripts/lane); an operation borrows a lane and has a
// sequence number in it. A fence is a command with the next sequence number: after it, no copy of the
// operation has an effect. A seeker is a call that wants permits, and an attempt is one script that asks for
// what a seeker wants. A lot is the permits that this process has, which may move between its calls without a
// command.
//
// # Exactly once
//
// A resend in the same lane with the same number is harmless. When the outcome of an operation is unknown its
// lane stays lent until the operation is settled in the background:
//
//	operation                 in doubt it is    and then
//	------------------------  ----------------  --------------------------------------------------------
//	an acquisition            undone            the call has nothing, whatever was executed
//	a release, a count-down   carried through   it has taken effect once
//	any other change          fenced            it took effect before the fence, or never will
//
// # Waiting
//
// The calls of a process that wait for one counter stand in a local queue, and only the head asks. When it
// was served the next one asks at once. Of permits without names the head takes as many beside as the calls
// behind it want, if each wants the same number, and these move to them without a command:
//
//	head asks ── refused ─► it waits, and its process stands in the process queue
//	    │
//	    └─ served, with so many beside ─► the head leaves, and the others are given theirs in their order
//	                                          └── what no call wants any more goes back
//
// The script has the context of the head: when that ends, all that the script took is undone, and the waiter
// that is first then asks anew. When a process dies, what it took is gone as if it had been held, and permits
// with leases come back with these.
package counter

import (
	"context"
	"fmt"
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
	channel  string // empty where no call waits
	row      string // of the processes that wait; empty: there is none, and permits do not move
	line     cohort.Key
	defaults *settings.Settings
	takes    settings.Option // of New
	notes    notes
	invalid  error // what is wrong with the name or the options of New; every call reports it
}

// New makes a counter. takes are the options that make sense in New.
func New(client redlatch.Client, name string, kind redlatch.Kind, channel func(key string) string,
	takes settings.Option, opts []redlatch.Option) *Counter {
	set := rootapi.For(opts)
	c := &Counter{Name: name, Session: session.Of(client, set), kind: kind, defaults: set, takes: takes,
		Size: sizeOf(set)}
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

// WithRow has the processes that wait for the counter stand in a process queue, so that what is given back
// wakes one process and not all.
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
		return scripts.Wake{}, errs.Wrong("%s %q: on a cluster with sharded channels its name cannot have braces, "+
			"because its channel %q falls into another slot; choose a name without", c.kind.Noun(), c.Name, c.channel)
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
