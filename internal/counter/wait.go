package counter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/waiting"
)

// An Acquisition takes something from the counter if it is there, and can be undone.
type Acquisition struct {
	Take func(call lane.Call) scripts.Command[bool]
	Undo func(wake scripts.Wake, call lane.Call) scripts.Command[bool] // settles the Take before it in the lane
}

// Try asks once. Those of this process who wait already are not overtaken.
func (c *Counter) Try(ctx context.Context, a Acquisition) (bool, error) {
	if c.invalid != nil {
		return false, c.invalid
	}
	if c.Session.Waiting(c.lineKey()) {
		return false, ctx.Err()
	}
	start := time.Now()
	taken, err := c.attempt(ctx, a, c.defaults.OutageFor(true))
	switch {
	case err != nil:
		err = c.broken(err)
		c.observe(settings.Refused, time.Since(start), err)
	case taken:
		c.observe(settings.Acquired, time.Since(start), nil)
	default:
		c.observe(settings.Refused, time.Since(start), errs.NotAcquired)
	}
	return taken, err
}

// Acquire waits until the acquisition succeeds.
func (c *Counter) Acquire(ctx context.Context, set *settings.Settings, a Acquisition) error {
	start := time.Now()
	ctx, cancel := bounded(ctx, set.Wait)
	defer cancel()
	err := c.acquire(ctx, set, a)
	if err != nil {
		err = c.explain(ctx, err)
		c.observe(settings.Refused, time.Since(start), err)
		return err
	}
	c.observe(settings.Acquired, time.Since(start), nil)
	return nil
}

func (c *Counter) acquire(ctx context.Context, set *settings.Settings, a Acquisition) error {
	outage := set.OutageFor(false)
	if !c.Session.Waiting(c.lineKey()) {
		if taken, err := c.attempt(ctx, a, outage); taken || err != nil {
			return err
		}
	}
	short := false // the last attempt found less than this waiter wants
	ask := func(ctx context.Context) (waiting.Verdict, error) {
		taken, err := c.attempt(ctx, a, outage)
		short = err == nil && !taken
		// After a success there may be enough for the next in line, who asks at once.
		return waiting.Verdict{Done: taken, More: true, Sleep: waiting.Bound(-1, set.Poll)}, err
	}
	return c.wait(ctx, set, ask, func(line *waiting.Line) {
		if short { // and there may be enough for those behind it, who want less
			line.Wake()
		}
	})
}

// Await waits until open says so; everybody who waits is released by one answer.
func (c *Counter) Await(ctx context.Context, set *settings.Settings, open func(ctx context.Context) (bool, error)) error {
	ctx, cancel := bounded(ctx, set.Wait)
	defer cancel()
	if is, err := open(ctx); is || err != nil {
		return c.explain(ctx, err)
	}
	err := c.wait(ctx, set, func(ctx context.Context) (waiting.Verdict, error) {
		is, err := open(ctx)
		return waiting.Verdict{Done: is, All: true, Sleep: waiting.Bound(-1, set.Poll)}, err
	}, func(*waiting.Line) {})
	return c.explain(ctx, err)
}

func bounded(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, wait)
}

// wait takes a place in line. A waiter who leaves in vain calls left, when it is out of the line.
func (c *Counter) wait(ctx context.Context, set *settings.Settings, attempt func(context.Context) (waiting.Verdict, error),
	left func(line *waiting.Line)) error {
	// The hub has to know which family of channels is in use. While it does not, the line polls.
	_, _ = c.Session.Publish(ctx)
	line, part := c.Session.Join(c.lineKey(), c.channel)
	defer part()
	err := line.Wait(ctx, set.Poll, attempt)
	if err != nil {
		left(line)
	}
	return err
}

func (c *Counter) lineKey() session.LineKey { return session.LineKey{Key: c.Key, Kind: c.noun} }

// attempt asks Redis once. What it leaves in doubt is undone in the background.
func (c *Counter) attempt(ctx context.Context, a Acquisition, outage time.Duration) (bool, error) {
	call := c.Session.BorrowLane(c.Key)
	cmd := a.Take(call)
	taken, receipt, err := delivery.Deliver(ctx, c.Session.Dispatch, cmd, delivery.Limit{Outage: outage})
	if err == nil {
		c.handBack(call, receipt.Doubt)
		return taken, nil
	}
	failure := delivery.AsFailure(err)
	if !failure.Doubt {
		c.handBack(call, false)
		return false, err
	}
	go func() {
		if taken, known := delivery.Result(failure, cmd); known && !taken {
			c.handBack(call, false)
			return
		}
		c.settle(call, func(ctx context.Context) error { return c.undo(ctx, a, call) })
	}()
	return false, err
}

func (c *Counter) undo(ctx context.Context, a Acquisition, call lane.Call) error {
	wake, err := c.Wake(ctx)
	if err != nil {
		return err
	}
	_, _, err = delivery.Deliver(ctx, c.Session.Dispatch, a.Undo(wake, next(call)), delivery.Limit{Outage: settleAttempt})
	return err
}

// explain makes a wait that ctx has ended match ErrNotAcquired as well as its reason. It asks ctx too, for the time-out of
// a dial also calls itself context.DeadlineExceeded.
func (c *Counter) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		return fmt.Errorf("%w: %s %q: %w", errs.NotAcquired, c.noun, c.Name, err)
	default:
		return c.broken(err)
	}
}
