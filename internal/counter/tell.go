package counter

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// Acquire has the seeker get the n that it wants, and the observer know that it begins and how it has ended.
// With try it asks once, and does not overtake the calls of this process that wait already.
func (c *Counter) Acquire(ctx context.Context, set *settings.Settings, n int64, s Seeker, try bool) error {
	call := observe.Begin(ctx, set, c, c.kind, c.Name, n)
	if call == nil {
		_, err := c.acquire(ctx, set, n, s, try)
		return err
	}
	defer call.Left()
	path, err := c.acquire(call.Context, set, n, s, try)
	if err != nil {
		call.Refused(err)
		return err
	}
	e := settings.Event{Owner: s.Owner(), Path: path}
	returned := false
	defer raise.Unless(&returned, s.Abandon) // if the observer panics the program never learns that it has permits
	defer func() { s.Told(call.Hold()) }()   // also then: what it is told of has an end
	call.Acquired(e)
	returned = true
	return nil
}

// GaveBack tells the observer that n permits without an owner were given back, or that a latch was counted
// down, as kind says; or that it will be so, with an error that says so. It returns err.
func (c *Counter) GaveBack(ctx context.Context, kind string, n int64, err error) error {
	if err == nil || errors.Is(err, errs.Uncertain) {
		c.happened(ctx, settings.Event{Kind: kind, Permits: n, Err: err})
	}
	return err
}

// happened tells the observer of what no wait has to do with.
func (c *Counter) happened(ctx context.Context, e settings.Event) {
	e.Primitive, e.Name = string(c.kind), c.Name
	observe.Happened(ctx, c.defaults, e)
}
