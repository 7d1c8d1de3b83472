package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/jitter"
	"github.com/redlatch/redlatch/internal/quorum"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/session"
)

// How long a member is waited for while others are held: at random between a half and the whole of a time that doubles
// with each round that it ends. Multi-locks among themselves close no circle, so for them it only has to be longer than
// what locks are usually held for; and it is how long a circle with others lasts.
const (
	firstPatience = 500 * time.Millisecond
	mostPatience  = 8 * time.Second
)

// lostPause is the mean pause after a round whose members did not last until all were held.
const lostPause = 50 * time.Millisecond

// A blocked error says which member was busy, for too long or at all, while others were held.
type blocked struct {
	member int
	err    error
}

func (b *blocked) Error() string { return b.err.Error() }
func (b *blocked) Unwrap() error { return b.err }

func (c *call) acquire(ctx context.Context) (*quorum.Hold, error) {
	if c.set.Wait > 0 && !c.try {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.set.Wait)
		defer cancel()
	}
	if c.try || !c.queues(ctx) {
		return c.rounds(ctx, false)
	}
	return c.wait(ctx)
}

// rounds makes rounds until one gets all members. alone says that others have had the time to take them.
func (c *call) rounds(ctx context.Context, alone bool) (*quorum.Hold, error) {
	carried := quorum.Carried(ctx)
	busy, patience := inOrder, firstPatience
	for {
		start := time.Now()
		members, err := c.round(ctx, busy, patience)
		var h *quorum.Hold
		if err == nil {
			h, err = c.hold(ctx, start, members, alone && time.Since(start) < baselock.YieldFor)
		}
		if err == nil {
			return h, nil
		}
		quorum.GiveBack(ctx, c.set.Logger, members)
		var b *blocked
		switch {
		case quorum.Lost(carried) != nil:
			return nil, quorum.Lost(carried)
		case c.try:
			return nil, err
		case errors.Is(err, errPartial):
			if failure := pause(ctx, err); failure != nil {
				return nil, failure
			}
			busy = inOrder
		case !errors.As(err, &b):
			return nil, err
		case busy == inOrder:
			busy, patience = b.member, min(2*patience, mostPatience)
		default:
			busy = inOrder
		}
	}
}

// inOrder is a round in which no member is known to be busy.
const inOrder = -1

// round takes all members. Besides an error it returns what it has got, to be given back.
//
// A member that was busy comes first and is waited for with nothing held. The members that stand before it in the order
// are then only tried: to wait for them would close circles among multi-locks, each of which ends by patience alone and
// makes others impatient, until all of them do little else.
func (c *call) round(ctx context.Context, busy int, patience time.Duration) (members []quorum.Member, err error) {
	take := func(i int, how manner) error {
		returned := false
		defer func() { // a member may panic, and a program that recovers from it would find the others held for ever
			if !returned {
				log := session.Logger(c.set.Logger).With("lock", c.lock.name)
				quorum.GiveBack(raise.Background(ctx, log), log, members)
			}
		}()
		h, err := c.one(ctx, i, how, patience)
		returned = true
		if err != nil {
			return err
		}
		inner := rootapi.Adopt(h)
		members = append(members, quorum.Member{Name: fmt.Sprintf("%q", c.lock.members[i].Name()), Hold: inner})
		// A member that is the same lock as an earlier one re-enters, or says at once that it cannot.
		ctx = holds.Lend(ctx, inner)
		return nil
	}
	if busy != inOrder {
		if err := take(busy, patiently); err != nil {
			return members, err
		}
	}
	for i := range c.lock.members {
		how := awhile
		switch {
		case i == busy:
			continue
		case c.try || i < busy:
			how = once
		case len(members) == 0:
			how = patiently
		}
		if err := take(i, how); err != nil {
			return members, err
		}
	}
	return members, nil
}

// A manner is how one member is asked for.
type manner int

const (
	patiently manner = iota // with nothing held: as long as the call may take
	awhile                  // while others are held
	once
)

func (c *call) one(ctx context.Context, i int, how manner, patience time.Duration) (h *redlatch.Hold, err error) {
	m := c.lock.members[i]
	switch how {
	case patiently:
		return m.Lock(ctx, c.forMember(0))
	case once:
		h, err = m.TryLock(ctx, c.forMember(0))
	case awhile:
		wait := patience/2 + jitter.Below(patience/2)
		if lease := c.set.Lease; lease > 0 {
			wait = max(time.Millisecond, min(wait, lease/3)) // what is held should not run out meanwhile
		}
		h, err = m.Lock(ctx, c.forMember(wait))
	}
	over := how == awhile && errors.Is(err, context.DeadlineExceeded) // the time of the member, of which nothing may be known
	if err != nil && ctx.Err() == nil && (over || errors.Is(err, errs.NotAcquired)) {
		err = &blocked{i, err}
	}
	return h, err
}

// errPartial: some members were lost before the last was held.
var errPartial = errors.New("a member was lost before all were held; ask for a longer lease")

// hold makes members that were all acquired one hold, with the whole lease on each.
func (c *call) hold(ctx context.Context, start time.Time, members []quorum.Member, alone bool) (*quorum.Hold, error) {
	if err := c.level(ctx, members); err != nil && !errors.Is(err, errs.Lost) {
		return nil, err
	}
	for _, m := range members {
		if cause := m.Ending().Cause(); cause != nil {
			return nil, fmt.Errorf("%w: %w: %s: %w", errs.Unavailable, errPartial, m.Name, cause)
		}
	}
	terms := c.Terms()
	if c.queued {
		terms.Cohort = c.lock.cohort(alone)
	}
	return quorum.New(terms, start, members), nil
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
	return quorum.Extend(ctx, c.set.Logger, short, lease)
}

func pause(ctx context.Context, why error) error {
	timer := time.NewTimer(lostPause/2 + jitter.Below(lostPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w (%w)", ctx.Err(), why)
	}
}
