package counter

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Sight is what one look at a counter has found out.
type Sight struct {
	Open  bool
	Err   error  // why it is open although no call got what it waited for
	Round string // else: which of several waits for the same key this is
}

// An opening is the error of a Sight: neither the server nor the context is at fault.
type opening struct{ error }

func (o *opening) Unwrap() error { return o.error }

// Await waits until look finds it open. One answer releases all calls that wait in the same round.
func (c *Counter) Await(ctx context.Context, set *settings.Settings,
	look func(ctx context.Context) (Sight, error)) error {
	call := observe.Begin(ctx, set, c, c.kind, c.Name, 0)
	defer call.Left()
	if call != nil {
		ctx = call.Context
	}
	if err := c.open(ctx, set, look); err != nil {
		call.Refused(err)
		return err
	}
	call.Opened()
	return nil
}

// open is Await without an observer.
func (c *Counter) open(ctx context.Context, set *settings.Settings,
	look func(ctx context.Context) (Sight, error)) error {
	ctx, cancel := set.Waiting(ctx, false)
	defer cancel()
	outage := set.OutageFor(set.Once)
	if err := c.fits(ctx, outage); err != nil {
		return c.explain(ctx, err)
	}
	sight, err := look(ctx)
	switch {
	case err != nil:
		return c.explain(ctx, err)
	case sight.Open:
		return sight.Err
	case set.Once:
		return c.refused(stillClosed)
	}
	queue, part := c.join(ctx, cohort.KeyFor(c.Key, string(c.kind)+" "+sight.Round), set.Poll)
	defer part()
	queue.Note(stillClosed)
	err = queue.WaitFor(ctx, set.Poll, nil, func(ctx context.Context) (cohort.Verdict, error) {
		sight, err := look(delivery.Watched(ctx, queue.Note))
		if err == nil && sight.Err != nil {
			return cohort.Verdict{Down: true}, &opening{sight.Err}
		}
		return cohort.Verdict{Done: sight.Open, All: true, Down: delivery.Outage(ctx, err),
			Sleep: cohort.Bound(-1, set.Poll), Found: stillClosed}, err
	})
	if why := new(opening); errors.As(err, &why) {
		return why.error
	}
	return c.explain(ctx, unanswered(ctx, err, queue.Found()))
}

// stillClosed is what a look has found out that did not find the latch open.
const stillClosed = errs.Refusal("is still closed")
