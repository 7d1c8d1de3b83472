package counter

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch"
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
	e := redlatch.Event{Owner: s.Owner(), Path: path}
	returned := false
	defer raise.Unless(&returned, s.Abandon) // if the observer panics the program never learns that it has permits
	defer func() { s.Told(call.Hold()) }()   // also then: what it is told of has an end
	call.Acquired(e)
	returned = true
	return nil
}

// acquire is Acquire without an observer. path is how the permits came to the call.
func (c *Counter) acquire(ctx context.Context, set *settings.Settings, n int64, s Seeker,
	try bool) (path redlatch.Path, err error) {
	if try || set.Once {
		return redlatch.PathFresh, c.try(ctx, set, n, s)
	}
	ctx, cancel := set.Waiting(ctx, false)
	defer cancel()
	for {
		if path, err = c.wait(ctx, set, n, s); !errors.Is(err, errLate) {
			return path, c.explain(ctx, err)
		}
	}
}

// wait asks, unless calls of this process wait already, and else waits behind them.
func (c *Counter) wait(ctx context.Context, set *settings.Settings, n int64, s Seeker) (path redlatch.Path, err error) {
	var found error
	if c.Session.Waiters(c.localQueue) == 0 {
		if found, err = c.once(ctx, n, s, set.OutageFor(false)); found == nil {
			return redlatch.PathFresh, err
		}
	}
	return c.seek(ctx, set, n, s, found)
}

// try asks once, unless calls of this process wait already.
func (c *Counter) try(ctx context.Context, set *settings.Settings, n int64, s Seeker) error {
	var found error
	waited, err := false, ctx.Err()
	// A try that knows the size takes nothing from calls that wait for what is not there.
	if err == nil && c.Session.Waiters(c.localQueue) > 0 && (c.Size == nil || !missing(c.Session.Found(c.localQueue))) {
		waited, err = c.Session.Behind(ctx, c.localQueue, set.OutageFor(true))
	}
	if err == nil && !waited {
		found, err = c.once(ctx, n, s, set.OutageFor(true))
	}
	switch {
	case err != nil:
		return c.explain(ctx, err)
	case waited:
		over := c.refused(errs.Refusal("is waited for by others of this process"))
		over.Want = n
		return over
	case found != nil:
		return c.refused(found)
	}
	return nil
}

// once asks for a call that does not wait. Where that was not served, found says why.
func (c *Counter) once(ctx context.Context, n int64, s Seeker, outage time.Duration) (found, err error) {
	try := s.Begin(0, nil)
	got, receipt, err := c.attempt(ctx, try, outage, nil)
	if err == nil {
		err = c.note(got, n)
	}
	switch {
	case err != nil:
		return nil, err
	case !got.Served:
		return tooFew{got, n, n}, nil
	}
	return nil, success{try, receipt, 0}.tell()
}
