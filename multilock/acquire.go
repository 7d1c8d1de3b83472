package multilock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/quorum"
)

// How long a member is waited for while others are held: at random between a half and the whole of a time that doubles
// with each round. It is long beside the usual hold of a lock, so that multi-locks among themselves, which cannot close
// a circle, rarely give up what they have; and it is how long a circle with others lasts.
const (
	firstPatience = 500 * time.Millisecond
	mostPatience  = 8 * time.Second
)

// lostPause is the mean pause after a round whose members did not last until all were held.
const lostPause = 50 * time.Millisecond

// A blocked error says which member was busy for too long while others were held.
type blocked struct {
	member int
	err    error
}

func (b *blocked) Error() string { return b.err.Error() }
func (b *blocked) Unwrap() error { return b.err }

// acquire makes rounds until one gets all members.
func (c *call) acquire(ctx context.Context) (*quorum.Hold, error) {
	if c.set.Wait > 0 && !c.try {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.set.Wait)
		defer cancel()
	}
	lent, carried := quorum.Lend(ctx)
	order, patience := c.lock.order(), firstPatience
	for {
		start := time.Now()
		members, err := c.round(lent, order, patience)
		var h *quorum.Hold
		if err == nil {
			h, err = c.hold(ctx, start, members)
		}
		if err == nil {
			return h, nil
		}
		quorum.GiveBack(ctx, members)
		var busy *blocked
		switch {
		case quorum.Lost(carried) != nil:
			return nil, quorum.Lost(carried)
		case c.try:
			return nil, err
		case errors.Is(err, errPartial):
			if failure := pause(ctx, err); failure != nil {
				return nil, failure
			}
			order = c.lock.order()
		case errors.As(err, &busy):
			order, patience = c.lock.order(busy.member), min(2*patience, mostPatience)
		default:
			return nil, err
		}
	}
}

// order is the members' own order, by index, but for one that was busy: it comes first and is waited for with nothing
// held.
func (l *Lock) order(busy ...int) []int {
	order := busy
	for i := range l.members {
		if !slices.Contains(busy, i) {
			order = append(order, i)
		}
	}
	return order
}

// round takes the members in order. Besides an error it returns what it has got, to be given back.
func (c *call) round(ctx context.Context, order []int, patience time.Duration) (members []quorum.Member, err error) {
	for at, i := range order {
		h, err := c.one(ctx, i, at > 0, patience)
		if err != nil {
			return members, err
		}
		inner := redlatch.Adopt(h)
		members = append(members, quorum.Member{Name: fmt.Sprintf("%q", c.lock.members[i].Name()), Hold: inner})
		// A member that is the same lock as an earlier one re-enters, or says at once that it cannot.
		ctx = holds.Lend(ctx, inner)
	}
	return members, nil
}

func (c *call) one(ctx context.Context, i int, holding bool, patience time.Duration) (*redlatch.Hold, error) {
	m := c.lock.members[i]
	if c.try {
		return m.TryLock(ctx, c.forMember(0))
	}
	if !holding {
		return m.Lock(ctx, c.forMember(0))
	}
	wait := patience/2 + rand.N(patience/2)
	if lease := c.set.Lease; lease > 0 {
		wait = max(time.Millisecond, min(wait, lease/3)) // what is held should not run out meanwhile
	}
	h, err := m.Lock(ctx, c.forMember(wait))
	if err != nil && ctx.Err() == nil && errors.Is(err, errs.NotAcquired) {
		err = &blocked{i, err}
	}
	return h, err
}

// errPartial: some members were lost before the last was held.
var errPartial = errors.New("a member was lost before all were held; ask for a longer lease")

// hold makes members that were all acquired one hold, with the whole lease on each.
func (c *call) hold(ctx context.Context, start time.Time, members []quorum.Member) (*quorum.Hold, error) {
	if err := c.level(ctx, members); err != nil && !errors.Is(err, errs.Lost) {
		return nil, err
	}
	for _, m := range members {
		if cause := m.Ending().Cause(); cause != nil {
			return nil, fmt.Errorf("%w: %w: %s: %w", errs.NotAcquired, errPartial, m.Name, cause)
		}
	}
	return quorum.New(quorum.Terms{
		Noun: "multi-lock", Name: c.lock.name, Need: len(members), Set: &c.set,
	}, start, members), nil
}

// level gives the members that were taken first the lease that they have used up waiting for the last.
func (c *call) level(ctx context.Context, members []quorum.Member) error {
	lease := c.set.Lease
	if lease == 0 {
		return nil
	}
	latest := slices.MaxFunc(members, func(a, b quorum.Member) int { return a.Until().Compare(b.Until()) }).Until()
	var short []quorum.Member
	for _, m := range members {
		if latest.Sub(m.Until()) > lease/20 {
			short = append(short, m)
		}
	}
	return quorum.Extend(ctx, short, lease)
}

func pause(ctx context.Context, why error) error {
	timer := time.NewTimer(lostPause/2 + rand.N(lostPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w (%w)", errs.NotAcquired, ctx.Err(), why)
	}
}
