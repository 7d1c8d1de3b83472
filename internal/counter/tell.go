package counter

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// told has acquire get the n that s wants, and the observer know that it begins and how it has ended. moved says that a release
// of this process has handed the permits on.
func (c *Counter) told(ctx context.Context, set *settings.Settings, n int64, s Seeker, acquire func(ctx context.Context) (moved bool, err error)) error {
	call := observe.Begin(ctx, set, c, c.noun, c.Name, n)
	if call == nil {
		_, err := acquire(ctx)
		return err
	}
	defer call.Left()
	moved, err := acquire(call.Context)
	if err != nil {
		call.Refused(err)
		return err
	}
	e := settings.Event{Owner: s.Owner(), Path: settings.Fresh}
	if moved {
		e.Path = settings.Local
	}
	returned := false
	defer raise.Unless(&returned, s.Abandon) // if the observer panics the program never learns that it has permits
	defer func() { s.Told(call.Hold()) }()   // also then: what it is told of has an end
	call.Acquired(e)
	returned = true
	return nil
}

// Released tells the observer that n permits which nobody owns were given back, or will be: with an error that says so. It returns err.
func (c *Counter) Released(ctx context.Context, n int64, err error) error {
	if err == nil || errors.Is(err, errs.Uncertain) {
		c.happened(ctx, settings.Event{Kind: settings.Released, Permits: n, Err: err})
	}
	return err
}

// Counted tells the observer that a latch was counted down by one, or will be: with an error that says so. It returns err.
func (c *Counter) Counted(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, errs.Uncertain) {
		c.happened(ctx, settings.Event{Kind: settings.Counted, Err: err})
	}
	return err
}

// happened tells the observer of what no wait has to do with.
func (c *Counter) happened(ctx context.Context, e settings.Event) {
	e.Primitive, e.Name = c.noun, c.Name
	observe.Happened(ctx, c.defaults, e)
}
