package redlock

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/quorum"
)

func (c *call) acquire(ctx context.Context) (*quorum.Hold, error) {
	if err := ctx.Err(); err != nil {
		return nil, c.Over(ctx, err, nil)
	}
	c.carried = quorum.Carried(ctx)
	c.again = c.Carries(ctx)
	if !c.again {
		waited, held, _ := c.Bases[0].Session.Cohorts.Busy(c.Line, false)
		switch {
		case waited && c.Try:
			if err := c.behind(ctx); err != nil {
				return nil, err
			}
		case waited, (held || c.lock.contended.Load()) && !c.Try:
			return c.wait(ctx, nil)
		}
	}
	r := c.round(ctx, quorum.Before{}, nil)
	switch {
	case r.hold != nil:
		return r.hold, nil
	case ctx.Err() != nil:
		return nil, c.Over(ctx, ctx.Err(), r.known())
	case r.instant, c.Try:
		return nil, r.err
	}
	return c.wait(ctx, &r)
}

// behind is for a try while other calls of this process wait, which it must not overtake. It returns what
// those have found out, or nil when no call waits any more.
func (c *call) behind(ctx context.Context) error {
	refused, err := c.Bases[0].Session.Behind(ctx, c.Line, c.Set.OutageFor(true))
	switch {
	case err != nil && ctx.Err() != nil:
		return c.Over(ctx, err, nil)
	case err != nil:
		return fmt.Errorf("redlatch: redlock %q: %w", c.Name, errs.Part(err, ""))
	case refused:
		return &redlatch.NotAcquiredError{Name: c.Name, Kind: redlatch.KindRedlock,
			Detail: "is waited for by others of this process"}
	}
	return nil
}
