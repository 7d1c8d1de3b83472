package counter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

	// Inspector is asked which owners have what it counts, for a call that waits for long; nil: the counter
	// is.
	Inspector redlatch.Inspector

	// Size is what the semaphore is set up with where it is missing; nil: nothing is set up.
	Size *lane.Size

	kind         redlatch.Kind
	channel      string     // empty where no call waits
	processQueue string     // its key; empty: there is none, and permits do not move
	localQueue   cohort.Key // of the calls of this process that wait
	defaults     *settings.Settings
	takes        settings.Option // of New
	invalid      error           // what is wrong with the name or the options of New; every call reports it

	unset, differs atomic.Bool // it is logged that there is no semaphore, or one with another number
}

// New makes a counter. takes are the options that make sense in New.
func New(client redlatch.Client, name string, kind redlatch.Kind, channel func(key string) string,
	takes settings.Option, opts []redlatch.Option) *Counter {
	set := rootapi.For(opts)
	c := &Counter{Name: name, Session: session.Of(client, set), kind: kind, defaults: set, takes: takes}
	if set.Permits > 0 {
		c.Size = &lane.Size{Permits: set.Permits, TTL: set.TTL}
	}
	c.Key, c.invalid = c.Session.KeyOf(name, set)
	if err := set.Check("a "+kind.Noun(), takes); err != nil {
		c.invalid = err
	}
	c.localQueue = cohort.KeyFor(c.Key, string(kind))
	if channel != nil {
		c.channel = channel(c.Key)
	}
	return c
}

// WithProcessQueue has the processes that wait for the counter stand in a process queue, so that what is
// given back wakes one process and not all.
func (c *Counter) WithProcessQueue(queue func(key string) string) *Counter {
	c.processQueue = queue(c.Key)
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
	if err := set.Check(call, takes|c.takes&settings.Permits); err != nil { // New's, which its calls refuse as such
		return nil, err
	}
	return &set, nil
}

// Defaults are the settings of a call that has no options.
func (c *Counter) Defaults() *settings.Settings { return c.defaults }

// Wake is the message by which this counter wakes its waiters.
func (c *Counter) Wake(ctx context.Context) (scripts.Wake, error) {
	return c.wake(ctx, c.defaults.OutageFor(false), false)
}

// WakeWithin is Wake for what has to happen although ctx may have ended.
func (c *Counter) WakeWithin(ctx context.Context, d time.Duration) (scripts.Wake, error) {
	return c.wake(ctx, d, true)
}

// wake is Wake, or WakeWithin if it must. A cluster may have to be asked for the command, for d at most.
func (c *Counter) wake(ctx context.Context, d time.Duration, must bool) (wake scripts.Wake, err error) {
	if c.invalid != nil || c.channel == "" {
		return wake, c.invalid
	}
	if must {
		wake.Publish, err = c.Session.PublishWithin(ctx, d)
	} else {
		wake.Publish, err = c.Session.PublishFor(ctx, d)
	}
	switch {
	case err != nil:
		return scripts.Wake{}, c.broken(err)
	case wake.Publish == session.Sharded && keys.Slot(c.channel) != keys.Slot(c.Key):
		return scripts.Wake{}, errs.Wrong("%s %q: on a cluster with sharded channels its name cannot have braces, "+
			"because its channel %q falls into another slot; choose a name without", c.kind.Noun(), c.Name, c.channel)
	case c.Session.KnowsListeners():
		wake.Row = c.processQueue
	}
	wake.Channel = c.channel
	return wake, nil
}

// fits is the error of a name that cannot be used. A call that only reads would find nothing there, which is
// an open latch. A name whose channel and key are in one slot fits, and nothing is asked.
func (c *Counter) fits(ctx context.Context, outage time.Duration) error {
	if c.channel == "" || keys.Slot(c.channel) == keys.Slot(c.Key) {
		return nil
	}
	_, err := c.wake(ctx, outage, false)
	return err
}

// broken is an error of the server or the network, with the counter's name.
func (c *Counter) broken(err error) error {
	return fmt.Errorf("redlatch: %s %q: %w", c.kind.Noun(), c.Name, outcome.Advise(c.Session.Dialing(err)))
}

// Query reads something of the counter.
func Query[R any](ctx context.Context, c *Counter, cmd scripts.Command[R]) (reply R, err error) {
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
	look, err := Query(ctx, c, lane.Inspect(c.Key))
	if err != nil {
		return redlatch.Info{}, err
	}
	info := c.Info()
	info.Exists, info.Value, info.TTL = look.Exists, look.Value, look.TTL
	return info, nil
}

// Look asks which owners have what it counts.
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

func (c *Counter) log() *slog.Logger {
	return session.Logger(c.defaults.Logger).With("lock.name", c.Name, "lock.primitive", c.kind)
}

// GaveBack tells the observer that n permits without an owner were given back, or that a latch was counted
// down, as kind says; or that it will be so, with an error that says so. It returns err.
func (c *Counter) GaveBack(ctx context.Context, kind redlatch.EventKind, n int64, err error) error {
	if err == nil || errors.Is(err, errs.Uncertain) {
		c.happened(ctx, redlatch.Event{Kind: kind, Permits: n, Err: err})
	}
	return err
}

// happened tells the observer of what no wait has to do with.
func (c *Counter) happened(ctx context.Context, e redlatch.Event) {
	e.Primitive, e.Name = c.kind, c.Name
	observe.Happened(ctx, c.defaults, e)
}
