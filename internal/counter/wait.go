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

	// Begin, if set, stands in for the two: attempts differ, as those do that mint ids.
	Begin func(wake scripts.Wake, call lane.Call) Attempt
}

// An Attempt is one of an Acquisition with Begin. Its Take is remembered by what it took and not in the lane. So it is
// fenced before its Undo, which needs no lane, and before a success of which a copy may still be on its way is believed.
type Attempt struct {
	Take scripts.Command[scripts.Attempt]
	Undo func(wake scripts.Wake) scripts.Command[bool]
	Took func(sent time.Time) error // told of the success, and when it was sent; an error is the acquisition's
}

// Try asks once. Those of this process who wait already are not overtaken.
func (c *Counter) Try(ctx context.Context, a Acquisition) (bool, error) {
	return c.TryWith(ctx, c.defaults, a)
}

// TryWith is Try with the options of the call.
func (c *Counter) TryWith(ctx context.Context, set *settings.Settings, a Acquisition) (bool, error) {
	if c.invalid != nil {
		return false, c.invalid
	}
	if c.Session.Waiting(c.lineKey()) {
		return false, ctx.Err()
	}
	start := time.Now()
	taken, _, err := c.attempt(ctx, a, set.OutageFor(true))
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
		if taken, _, err := c.attempt(ctx, a, outage); taken || err != nil {
			return err
		}
	}
	short := false // the last attempt found less than this waiter wants
	ask := func(ctx context.Context) (waiting.Verdict, error) {
		taken, again, err := c.attempt(ctx, a, outage)
		short = err == nil && !taken
		// After a success there may be enough for the next in line, who asks at once.
		return waiting.Verdict{Done: taken, More: true, Down: delivery.Outage(ctx, err), Sleep: waiting.Bound(again, set.Poll)}, err
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
		return waiting.Verdict{Done: is, All: true, Down: delivery.Outage(ctx, err), Sleep: waiting.Bound(-1, set.Poll)}, err
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
	line, _, part := c.Session.Join(c.lineKey(), c.channel)
	defer part()
	err := line.Wait(ctx, set.Poll, attempt)
	if err != nil {
		left(line)
	}
	return err
}

func (c *Counter) lineKey() session.LineKey { return session.LineKey{Key: c.Key, Kind: c.noun} }

// attempt asks Redis once. again is how long what is wanted is certainly taken, negative when that is not known. What it
// leaves in doubt is undone in the background.
func (c *Counter) attempt(ctx context.Context, a Acquisition, outage time.Duration) (taken bool, again time.Duration, err error) {
	call := c.Session.BorrowLane(c.Key)
	try, err := c.begin(ctx, a, call)
	if err != nil {
		c.handBack(call, false)
		return false, 0, err
	}
	reply, receipt, err := delivery.Deliver(ctx, c.Session.Dispatch, try.take, delivery.Limit{Outage: outage})
	if err != nil {
		failure := delivery.AsFailure(err)
		if !failure.Doubt {
			c.handBack(call, false)
			return false, 0, err
		}
		go func() {
			if reply, known := delivery.Result(failure, try.take); known && !reply.Held {
				c.handBack(call, false)
				return
			}
			c.settle(call, try.undo)
		}()
		return false, 0, err
	}
	switch {
	case !reply.Held && receipt.Doubt:
		// A copy that is still on its way may find enough by now, and what it takes nobody would give back.
		go c.settle(call, try.undo)
	case receipt.Doubt && try.bar:
		bar := lane.Fence(c.Key, next(call))
		if _, _, err := delivery.Deliver(ctx, c.Session.Dispatch, bar, delivery.Limit{Outage: outage}); err != nil {
			go c.settle(call, try.undo)
			return false, 0, err
		}
		c.handBack(call, false)
	default:
		c.handBack(call, receipt.Doubt)
	}
	if !reply.Held {
		return false, reply.Remaining, nil
	}
	if try.took != nil {
		err = try.took(receipt.Sent)
	}
	return err == nil, -1, err
}

// A begun acquisition has been given its lane.
type begun struct {
	take scripts.Command[scripts.Attempt]
	undo func(ctx context.Context) error
	took func(sent time.Time) error // may be nil
	bar  bool                       // only a fence keeps a copy from taking effect later
}

func (c *Counter) begin(ctx context.Context, a Acquisition, call lane.Call) (begun, error) {
	if a.Begin == nil {
		take := scripts.Map(a.Take(call), func(taken bool) scripts.Attempt {
			return scripts.Attempt{Held: taken, Remaining: -1}
		})
		return begun{take: take, undo: func(ctx context.Context) error {
			return c.undo(ctx, func(wake scripts.Wake) scripts.Command[bool] { return a.Undo(wake, next(call)) })
		}}, nil
	}
	wake, err := c.Wake(ctx)
	if err != nil {
		return begun{}, err
	}
	try := a.Begin(wake, call)
	return begun{take: try.Take, took: try.Took, bar: true, undo: func(ctx context.Context) error {
		if err := c.fence(call)(ctx); err != nil {
			return err
		}
		return c.undo(ctx, try.Undo)
	}}, nil
}

func (c *Counter) undo(ctx context.Context, build func(wake scripts.Wake) scripts.Command[bool]) error {
	wake, err := c.Wake(ctx)
	if err != nil {
		return err
	}
	_, _, err = delivery.Deliver(ctx, c.Session.Dispatch, build(wake), delivery.Limit{Outage: settleAttempt})
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
