// Package counter is what semaphore and latch share: operations on a number in Redis that nobody owns, so that each
// has to take effect exactly once however often its command is executed.
//
// An operation borrows a lane (see scripts/lane) and carries a number in it. Resending is then harmless. Of an
// operation that did not come to a known end the lane stays lent until it is settled in the background: an acquisition
// is undone, a release is carried through, and anything else is fenced, so that it cannot take effect later.
package counter

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
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

	noun     string // "semaphore", for error texts
	channel  string // empty where nobody waits
	defaults *settings.Settings
	invalid  error // what is wrong with the name or the options of New; every call reports it
}

// New makes a counter. takes are the options that make sense in New.
func New(client redlatch.Client, name, noun string, channel func(key string) string, takes settings.Option, opts []redlatch.Option) *Counter {
	set := settings.For(opts)
	c := &Counter{Name: name, Session: session.Of(client, set), noun: noun, defaults: set}
	c.Key, c.invalid = c.Session.KeyOf(name, set)
	if err := set.Check("a "+noun, takes); err != nil {
		c.invalid = err
	}
	if channel != nil {
		c.channel = channel(c.Key)
	}
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
	set := settings.Apply(c.defaults.ForCall(), opts)
	if err := set.Check(call, takes); err != nil {
		return nil, err
	}
	return &set, nil
}

// Wake is the message by which this counter wakes its waiters.
func (c *Counter) Wake(ctx context.Context) (scripts.Wake, error) {
	if c.channel == "" {
		return scripts.Wake{}, nil
	}
	publish, err := c.Session.Publish(ctx)
	if err != nil {
		return scripts.Wake{}, c.broken(err)
	}
	if publish == session.Sharded && keys.Slot(c.channel) != keys.Slot(c.Key) {
		return scripts.Wake{}, errs.Wrong("%s %q: on a cluster with sharded channels its name cannot have braces, because "+
			"its channel %q falls into another slot; choose a name without", c.noun, c.Name, c.channel)
	}
	return scripts.Wake{Publish: publish, Channel: c.channel}, nil
}

// Broken is an error of the server or the network, with the counter's name.
func (c *Counter) Broken(err error) error { return c.broken(err) }

func (c *Counter) broken(err error) error {
	return fmt.Errorf("redlatch: %s %q: %w", c.noun, c.Name, err)
}

func (c *Counter) observe(kind int, d time.Duration, err error) {
	if c.defaults.Observe != nil {
		c.defaults.Observe(settings.Event{Kind: kind, Name: c.Name, Duration: d, Err: err})
	}
}

// Ask reads something for a query.
func Ask[R any](ctx context.Context, c *Counter, cmd func(key string) scripts.Command[R]) (reply R, err error) {
	if c.invalid != nil {
		return reply, c.invalid
	}
	if reply, err = Read(ctx, c, cmd, c.defaults); err != nil {
		return reply, c.broken(err)
	}
	return reply, nil
}

// Read reads something for a wait, which explains errors itself.
func Read[R any](ctx context.Context, c *Counter, cmd func(key string) scripts.Command[R], set *settings.Settings) (R, error) {
	reply, _, err := delivery.Deliver(ctx, c.Session.Dispatch, cmd(c.Key), delivery.Limit{Outage: set.OutageFor(false)})
	return reply, err
}

// Change does something once. When ctx ends before the outcome is known the error matches ErrUncertain, and the
// operation is fenced in the background: it took effect by then, or never will.
func Change[R any](ctx context.Context, c *Counter, build func(wake scripts.Wake, call lane.Call) scripts.Command[R]) (reply R, err error) {
	return ChangeThen(ctx, c, build, func() {})
}

// ChangeThen is Change that calls over when the operation cannot take effect any more: before it returns, unless a copy
// of its command may still be on its way.
func ChangeThen[R any](ctx context.Context, c *Counter, build func(wake scripts.Wake, call lane.Call) scripts.Command[R],
	over func()) (reply R, err error) {
	return run(ctx, c, build, delivery.Limit{Outage: c.defaults.OutageFor(false)}, false, over)
}

// GiveBack is Change for what has to happen, like the release of permits: it ignores the end of ctx, has the release
// timeout as its limit, and what is in doubt by then is carried through in the background.
func GiveBack[R any](ctx context.Context, c *Counter, build func(wake scripts.Wake, call lane.Call) scripts.Command[R]) (reply R, err error) {
	limit := delivery.Limit{Outage: c.defaults.ReleaseTimeout, Total: c.defaults.ReleaseTimeout, Stubborn: true}
	return run(ctx, c, build, limit, true, func() {})
}

// run sends one operation in a lane. In doubt it is carried through in the background if it is owed, else fenced; over is
// called after that.
func run[R any](ctx context.Context, c *Counter, build func(wake scripts.Wake, call lane.Call) scripts.Command[R],
	limit delivery.Limit, owed bool, over func()) (reply R, err error) {
	if c.invalid != nil {
		over()
		return reply, c.invalid
	}
	wake, err := c.Wake(ctx)
	if err != nil {
		over()
		return reply, err
	}
	call := c.Session.BorrowLane(c.Key)
	settled := func() {
		c.Session.ReturnLane(c.Key, call)
		over()
	}
	cmd := build(wake, call)
	deliver := delivery.Deliver[R]
	if limit.Total > 0 {
		deliver = delivery.Within[R]
	}
	reply, receipt, err := deliver(ctx, c.Session.Dispatch, cmd, limit)
	if err == nil {
		if receipt.Doubt { // a copy of the command may still be on its way
			go c.Settle(c.fence(call), settled)
		} else {
			settled()
		}
		return reply, nil
	}
	failure := delivery.AsFailure(err)
	if !failure.Doubt {
		settled()
		return reply, c.broken(err)
	}
	go func() {
		_, known := delivery.Result(failure, cmd)
		switch {
		case owed: // also when it is known: the last send may have ended without being executed
			c.Settle(carry(c, cmd, call), settled)
		case known:
			settled()
		default:
			c.Settle(c.fence(call), settled)
		}
	}()
	return reply, fmt.Errorf("%w: %s %q: it is settled in the background: %w", errs.Uncertain, c.noun, c.Name, err)
}

// handBack returns a lane. If a copy of its last command may still be on its way, it is fenced first.
func (c *Counter) handBack(call lane.Call, doubt bool) {
	if !doubt {
		c.Session.ReturnLane(c.Key, call)
		return
	}
	go c.settle(call, c.fence(call))
}
