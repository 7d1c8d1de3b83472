package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/quorum"
)

// How long a member is waited for while others are held: at random between a half and the whole of a time
// that doubles with each round that it ends. Multi-locks among themselves close no circle, so for them it
// only has to be longer than what locks are usually held for; and it is how long a circle with others lasts.
const (
	firstPatience = 500 * time.Millisecond
	mostPatience  = 8 * time.Second
)

// For so many refusals, and for so long, a call that is refused gives back all that it has. All or nothing
// alone would starve among members that are often held.
const (
	mostRefusals = 3
	allOrNothing = 500 * time.Millisecond
)

// lostPause is the mean pause after a round whose members did not last until all were held.
const lostPause = 50 * time.Millisecond

// A blocked error says which member was busy, for too long or at all, while others were held.
type blocked struct {
	member int
	apart  bool // it was asked for together with others
	err    error
}

func (b *blocked) Error() string { return b.err.Error() }
func (b *blocked) Unwrap() error { return b.err }

func (c *call) acquire(ctx context.Context) (*quorum.Hold, error) {
	c.busy = inOrder
	// A call whose context carries a member would wait for itself.
	if c.queued = !c.Try && c.lock.whole && !c.Carries(ctx); !c.queued {
		return c.rounds(ctx, quorum.Before{})
	}
	if waited, held, _ := c.Bases[0].Session.Cohorts.Busy(c.Line, false); !waited && !held {
		// A member that others have or wait for, most likely, is waited for first: all would be asked for in vain.
		if c.busy = slices.IndexFunc(c.Bases, locking.Wanted); c.busy == inOrder {
			if h, err := c.first(ctx); h != nil || err != nil {
				return h, err
			}
		}
	}
	return c.wait(ctx)
}

// first asks once for all members, if one script can take them, before the call takes a place in the local
// queue. It answers nothing where the call has to wait.
func (c *call) first(ctx context.Context) (*quorum.Hold, error) {
	c.gives = true
	r := c.round(ctx)
	r.heeds = false // as the first question for a single lock does not
	some := r.together(0)
	if len(some) < len(r.got) {
		return nil, nil
	}
	var h *quorum.Hold
	err := r.all(some)
	if err == nil {
		h, err = c.hold(ctx, r, quorum.Before{})
	}
	b, refused := errors.AsType[*blocked](err)
	switch {
	case err == nil:
		return h, nil
	case refused:
		c.busy, c.refusals = b.member, 1
	case errors.Is(err, composite.ErrApart):
	default:
		c.GiveBack(ctx, r.members)
		if !errors.Is(err, errPartial) {
			return nil, err
		}
	}
	return nil, nil
}

// rounds makes rounds until one gets all members. before holds for a round that gets them at once.
func (c *call) rounds(ctx context.Context, before quorum.Before) (*quorum.Hold, error) {
	carried := quorum.Carried(ctx)
	patience, began := firstPatience, time.Now()
	for {
		c.gives = c.Try || c.refusals < mostRefusals && time.Since(began) < allOrNothing
		r := c.round(ctx)
		err := r.run(c.busy, patience)
		if time.Since(began) >= locking.YieldFor {
			before = quorum.Before{}
		}
		var h *quorum.Hold
		if err == nil {
			h, err = c.hold(ctx, r, before)
		}
		if err == nil {
			return h, nil
		}
		before = quorum.Before{}
		c.GiveBack(ctx, r.members)
		b, refused := errors.AsType[*blocked](err)
		switch {
		case quorum.Lost(carried) != nil:
			return nil, quorum.Lost(carried)
		case c.Try:
			return nil, err
		case errors.Is(err, errPartial):
			if ended := clock.Sleep(ctx, lostPause/2+jitter.Below(lostPause)); ended != nil {
				return nil, fmt.Errorf("%w (%w)", ended, err)
			}
			c.busy = inOrder
		case !refused:
			return nil, err
		case c.gives && b.apart:
			c.busy = b.member
			c.refusals++
		case c.busy == inOrder:
			c.busy, patience = b.member, min(2*patience, mostPatience)
		default:
			c.busy = inOrder
		}
	}
}

// errPartial: some members were lost before the last was held.
var errPartial = errors.New("a member was lost before all were held; ask for a longer lease")

// hold makes members that were all acquired one hold, with the whole lease on each.
func (c *call) hold(ctx context.Context, r *round, before quorum.Before) (*quorum.Hold, error) {
	if err := c.level(ctx, r.members); err != nil && !errors.Is(err, errs.Lost) {
		return nil, err
	}
	for _, m := range r.members {
		if cause := m.Ending().Cause(); cause != nil {
			return nil, fmt.Errorf("%w: %w: %v: %w", errs.Unavailable, errPartial, m, cause)
		}
	}
	var streak *quorum.Streak
	if c.queued {
		streak = c.Streak(before)
	}
	return c.Hold(r.start, r.members, streak, nil), nil
}

// level gives the members that were taken first the lease that they have used up waiting for the last.
func (c *call) level(ctx context.Context, members []holds.Member) error {
	lease := c.Set.Lease
	if lease == 0 {
		return nil
	}
	latest := slices.MaxFunc(members, func(a, b holds.Member) int { return a.Until().Compare(b.Until()) }).Until()
	var short []holds.Member
	for _, m := range members {
		if latest.Sub(m.Until()) > lease/20 {
			short = append(short, m)
		}
	}
	return c.Extend(ctx, short, lease)
}
