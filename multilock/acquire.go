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

// For so many refusals, and for so long, a call that is refused gives back all that it has. All or nothing alone would starve
// among members that are often held.
const (
	mostRefusals = 3
	allOrNothing = 500 * time.Millisecond
)

// lostPause is the mean pause after a round whose members did not last until all were held.
const lostPause = 50 * time.Millisecond

// A blocked error says which member was busy, for too long or at all, while others were held.
type blocked struct {
	member int
	apart  bool // it was found busy before anything was waited for
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
	busy, patience, refusals, began := inOrder, firstPatience, 0, time.Now()
	for {
		start := time.Now()
		c.gives = c.try || refusals < mostRefusals && start.Sub(began) < allOrNothing
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
		case c.gives && b.apart:
			busy = b.member
			refusals++
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
// makes others impatient, until all of them do little else. Members that one script can take are first tried together.
func (c *call) round(ctx context.Context, busy int, patience time.Duration) (members []quorum.Member, err error) {
	got := make([]bool, len(c.lock.members))
	take := func(some []int, ask func() ([]holds.Hold, error)) error {
		returned := false
		defer func() { // a member may panic, and a program that recovers from it would find the others held for ever
			if !returned {
				log := session.Logger(c.set.Logger).With("lock", c.lock.name)
				quorum.GiveBack(raise.Background(ctx, log), log, members)
			}
		}()
		inner, err := ask()
		returned = true
		if err != nil {
			return err
		}
		for n, i := range some {
			members = append(members, quorum.Member{Name: fmt.Sprintf("%q", c.lock.members[i].Name()), Hold: inner[n]})
			// A member that is the same lock as an earlier one re-enters, or says at once that it cannot.
			ctx = holds.Lend(ctx, inner[n])
			got[i] = true
		}
		return nil
	}
	one := func(i int, how manner) error {
		return take([]int{i}, func() ([]holds.Hold, error) {
			h, err := c.one(ctx, i, how, patience)
			if err != nil {
				return nil, err
			}
			return []holds.Hold{rootapi.Adopt(h)}, nil
		})
	}
	if busy != inOrder {
		if err := one(busy, patiently); err != nil {
			return members, err
		}
	}
	tried := 0 // the members before this one were asked for together
	for i := range c.lock.members {
		how := awhile
		switch {
		case got[i]:
			continue
		case c.try || slices.Contains(got[i:], true):
			how = once
		case len(members) == 0:
			how = patiently
		}
		if some := c.together(ctx, i, got); i >= tried && len(some) > 1 && (c.gives || how != patiently) {
			err := take(some, func() ([]holds.Hold, error) { return c.all(ctx, some) })
			var b *blocked
			switch {
			case err == nil:
				continue
			case errors.As(err, &b) && !c.gives && b.member > busy: // it is waited for
			case !errors.Is(err, baselock.ErrApart):
				return members, err
			}
			tried = some[len(some)-1] + 1
		}
		if err := one(i, how); err != nil {
			return members, err
		}
	}
	return members, nil
}

// together are the members that one script is asked for: the member i, and the next ones in the order that it can take too.
// Where nothing is waited for while something is held, they are all others that it can take.
func (c *call) together(ctx context.Context, i int, got []bool) (some []int) {
	bases := c.lock.bases
	for n := i; n < len(bases); n++ {
		switch {
		case got[n]:
		case bases[n] != nil && !bases[n].Carries(ctx) && !slices.ContainsFunc(some, func(m int) bool { return !bases[m].Together(bases[n]) }):
			some = append(some, n)
		case n == i, !c.try && !(c.gives && c.lock.whole):
			return some
		}
	}
	return some
}

// all asks once for some members together.
func (c *call) all(ctx context.Context, some []int) ([]holds.Hold, error) {
	bases := make([]*baselock.Base, len(some))
	for n, i := range some {
		bases[n] = c.lock.bases[i]
	}
	got, busy, err := baselock.TryAll(ctx, bases, c.ofMember(), c.try)
	if err != nil && ctx.Err() == nil && errors.Is(err, errs.NotAcquired) {
		err = &blocked{some[busy], true, err}
	}
	return got, err
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
		err = &blocked{member: i, err: err}
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
