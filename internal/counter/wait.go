package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/waiting"
)

// Try asks once for n, with the settings of the call; nil: those of New. Those of this process who wait already are not
// overtaken. When it was not served although nothing failed, refused is true, and the error says why.
func (c *Counter) Try(ctx context.Context, set *settings.Settings, n int64, s Seeker) (refused bool, err error) {
	if set == nil {
		set = c.defaults
	}
	start := time.Now()
	taken, waited, err := false, c.Session.Waiting(c.line), ctx.Err()
	if !waited {
		taken, err = c.once(ctx, s, set.OutageFor(true))
	}
	switch {
	case err != nil:
		err = c.explain(ctx, err)
	case waited:
		refused, err = true, fmt.Errorf("%w: %s %q: others of this process are waiting for it", errs.NotAcquired, c.noun, c.Name)
	case !taken:
		refused, err = true, fmt.Errorf("%w: %s %q has fewer than %d permits left", errs.NotAcquired, c.noun, c.Name, n)
	}
	if err != nil {
		c.observe(set, settings.Refused, time.Since(start), err)
		return refused, err
	}
	c.observe(set, settings.Acquired, time.Since(start), nil)
	return false, nil
}

// Acquire waits until the seeker has got what it wants.
func (c *Counter) Acquire(ctx context.Context, set *settings.Settings, s Seeker) error {
	start := time.Now()
	ctx, cancel := bounded(ctx, set.Wait)
	if cancel != nil {
		defer cancel()
	}
	err := c.acquire(ctx, set, s)
	for errors.Is(err, errLate) {
		err = c.acquire(ctx, set, s)
	}
	if err != nil {
		err = c.explain(ctx, err)
		c.observe(set, settings.Refused, time.Since(start), err)
		return err
	}
	c.observe(set, settings.Acquired, time.Since(start), nil)
	return nil
}

func (c *Counter) acquire(ctx context.Context, set *settings.Settings, s Seeker) error {
	if !c.Session.Waiting(c.line) {
		if taken, err := c.once(ctx, s, set.OutageFor(false)); taken || err != nil {
			return err
		}
	}
	return c.seek(ctx, set, s)
}

// once asks for one who does not wait.
func (c *Counter) once(ctx context.Context, s Seeker, outage time.Duration) (bool, error) {
	try := s.Begin(nil)
	got, receipt, err := c.attempt(ctx, try, outage)
	if err != nil || got.Served == 0 {
		return false, err
	}
	err = tell(try, 0, receipt)
	return err == nil, err
}

// A Sight is what one look at a counter has found out.
type Sight struct {
	Open  bool
	Err   error  // why it is open although nobody got what he waited for
	Round string // else: which of several waits for the same key this is
}

// An opening is the error of a Sight: neither the server nor the context is at fault.
type opening struct{ error }

func (o *opening) Unwrap() error { return o.error }

// Await waits until look finds it open; everybody who waits in the same round is released by one answer.
func (c *Counter) Await(ctx context.Context, set *settings.Settings, look func(ctx context.Context) (Sight, error)) error {
	ctx, cancel := bounded(ctx, set.Wait)
	if cancel != nil {
		defer cancel()
	}
	if err := c.fits(ctx, set.OutageFor(false)); err != nil {
		return c.explain(ctx, err)
	}
	sight, err := look(ctx)
	switch {
	case err != nil:
		return c.explain(ctx, err)
	case sight.Open:
		return sight.Err
	}
	line, part := c.join(ctx, session.LineFor(c.Key, c.noun+" "+sight.Round), set.Poll)
	defer part()
	err = line.Wait(ctx, set.Poll, func(ctx context.Context) (waiting.Verdict, error) {
		sight, err := look(ctx)
		if err == nil && sight.Err != nil {
			return waiting.Verdict{Down: true}, &opening{sight.Err}
		}
		return waiting.Verdict{Done: sight.Open, All: true, Down: delivery.Outage(ctx, err), Sleep: waiting.Bound(-1, set.Poll)}, err
	})
	if why := new(opening); errors.As(err, &why) {
		return why.error
	}
	return c.explain(ctx, err)
}

// bounded is ctx, for no longer than wait if that is above 0; there is something to cancel then.
func bounded(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, nil
	}
	return context.WithTimeout(ctx, wait)
}

// join takes the way into the line.
func (c *Counter) join(ctx context.Context, key session.LineKey, poll time.Duration) (line *waiting.Line, part func()) {
	// The hub has to know which family of channels is in use. If it does not, the line polls for as long as somebody is in
	// it; so it is worth asking for as long as a poll takes.
	_, _ = c.Session.PublishFor(ctx, poll)
	line, _, part = c.Session.Join(key, c.channel)
	return line, part
}

// explain makes a wait that ctx has ended match ErrNotAcquired as well as its reason. It asks ctx too, for the time-out of
// a dial also calls itself context.DeadlineExceeded.
func (c *Counter) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errs.Invalid) && !delivery.Failed(err):
		return err
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return c.broken(err)
	case errors.Is(err, errs.Unavailable):
		return c.broken(errs.Ended(ctx, err))
	default:
		return fmt.Errorf("%w: %s %q: %w", errs.NotAcquired, c.noun, c.Name, errs.Ended(ctx, err))
	}
}
