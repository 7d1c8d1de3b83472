package permitsemaphore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
)

// Unlock gives the permits back. The contexts end first, so that the work stops before that of the next
// holder starts.
func (g *grant) Unlock(ctx context.Context) error {
	g.mu.Lock()
	if g.released {
		g.mu.Unlock()
		return fmt.Errorf("%w: this permit of %q was released before", errs.Released, g.semaphore.counter.Name)
	}
	g.released = true
	ids, lost := g.ids, g.loss.Err()
	elsewhere := 0 // are being released by id at this moment
	for _, id := range ids {
		if slices.Contains(g.leaving, id) {
			elsewhere++
		}
	}
	g.mu.Unlock()
	g.Ending().End(errs.Released)
	g.leave()
	g.until = g.ticket.TrustedUntil()
	var whole bool
	var err error
	switch {
	case len(ids) == 0:
		whole = true
	case lost != nil || elsewhere > 0 || g.set.Scripted:
		whole, err = g.giveBack(ctx, ids, elsewhere)
	default:
		whole, err = g.handOn(ctx, ids)
	}
	switch {
	case lost != nil:
		err = lost
	case !whole:
		err = g.lose(redlatch.ReasonTaken, nil)
	}
	err = g.loss.Explain(err)
	g.Finish(ctx, redlatch.EventReleased, err)
	return err
}

// giveBack sends the release, and tells whether all permits were there. Those that are missing were lost,
// unless an earlier send of this very release may have given them back while the lease was still trusted.
func (g *grant) giveBack(ctx context.Context, ids []string, elsewhere int) (whole bool, err error) {
	lasts := clock.Now().Before(g.until)
	back, receipt, err := release(ctx, g, ids, g.owedWithin(), func(wake scripts.Wake) scripts.Command[int64] {
		if len(ids) == 1 && lasts {
			return script.GiveBackOne(g.semaphore.keys, ids[0], wake)
		}
		return script.GiveBack(g.semaphore.keys, ids, wake)
	})
	return err != nil || back >= int64(len(ids)-elsewhere) || back == 0 && g.before(receipt), err
}

// before tells whether an earlier send of a command, of which the last one found nothing, may have found the
// permits.
func (g *grant) before(receipt delivery.Receipt) bool {
	return receipt.Doubt && clock.Now().Before(g.until)
}

// release sends what ends the permits. What is not confirmed is given back in the background, with all of
// those ids, for as long as it is owed.
func release[R any](ctx context.Context, g *grant, all []string, owed time.Duration,
	build func(wake scripts.Wake) scripts.Command[R]) (answer R, receipt delivery.Receipt, err error) {
	// On a cluster this may have to ask for the family of channels, which has nothing to do with the end of
	// ctx.
	limit := delivery.Limit{Outage: g.set.ReleaseTimeout, Total: g.set.ReleaseTimeout, Stubborn: true}
	done := false
	// Also when a hook of the client panics on this goroutine: no caller can release the permits again.
	defer raise.Unless(&done, func() {
		go g.giveBackLater(all, owed)
	})
	wake, err := g.semaphore.counter.WakeWithin(ctx, limit.Total)
	if err == nil {
		answer, receipt, err = delivery.Within(ctx, g.semaphore.counter.Session.Dispatch, build(wake), limit)
	}
	if err != nil {
		return answer, receipt, g.unconfirmed(err)
	}
	done = true
	return answer, receipt, nil
}

// owed is how long the release of a permit with such a lease is repeated, for at most so long it stays taken
// by itself. Of one without expiry it is a day.
func owed(lease time.Duration) time.Duration {
	if lease == NoExpiry {
		return 24 * time.Hour
	}
	return lease
}

// owedWithin is owed of the longest lease that the permits may have.
func (g *grant) owedWithin() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(owed(g.lease), g.owed)
}

// giveBackLater repeats the release for as long as it is owed, until it is confirmed. A late copy of it finds
// nothing.
func (g *grant) giveBackLater(ids []string, owed time.Duration) {
	g.semaphore.counter.SettleFor(owed, func(ctx context.Context) error {
		wake, err := g.semaphore.counter.Wake(ctx)
		if err != nil {
			return err
		}
		_, _, err = delivery.Deliver(ctx, g.semaphore.counter.Session.Dispatch,
			script.GiveBack(g.semaphore.keys, ids, wake),
			delivery.Limit{Outage: g.set.ReleaseTimeout})
		if err != nil {
			return fmt.Errorf("giving back the permits %s: %w", texts(ids), err)
		}
		return nil
	}, func() {})
}

func (g *grant) unconfirmed(err error) error {
	doubt := delivery.AsFailure(err).Doubt
	err = g.semaphore.counter.Session.Dialing(err)
	if doubt {
		err = errs.Part(fmt.Errorf("%w: %w", errs.Uncertain, err), "")
	}
	if errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("redlatch: the release of a permit of %q is not confirmed and cannot go on, so it may stay taken until its lease is "+
			"over; close a client after the last Release: %w", g.semaphore.counter.Name, err)
	}
	return fmt.Errorf("redlatch: the release of a permit of %q is not confirmed and goes on in the background: %w",
		g.semaphore.counter.Name, err)
}

// Release gives back permits by their ids, all or none, whichever process has them. When one of them is
// unknown, or was released before, or has expired, the error matches ErrNotHeld and none is given back; an
// expired one comes back by itself all the same. If an id is given twice the error matches ErrInvalid, and
// nothing is sent.
//
// A Permit of this process that has one of the ids goes on with the others, and is released with the last of
// them. One of another process is lost, as a whole, when it notices; to hand out permits to other processes,
// acquire them one by one.
//
// Release ignores the cancellation of ctx and has a time limit of its own ([redlatch.WithReleaseTimeout]);
// what is in doubt by then is carried through in the background, and the error matches ErrUncertain.
func (s *Semaphore) Release(ctx context.Context, ids ...string) error {
	released, err := s.release(ctx, "Release", ids)
	if err == nil && !released {
		return fmt.Errorf("%w: a permit of %q is unknown, was released before or has expired; none was released",
			errs.NotHeld, s.Name())
	}
	return err
}

// TryRelease is like Release, but returns false instead of ErrNotHeld.
func (s *Semaphore) TryRelease(ctx context.Context, ids ...string) (bool, error) {
	return s.release(ctx, "TryRelease", ids)
}

func (s *Semaphore) release(ctx context.Context, call string, texts []string) (bool, error) {
	if _, err := s.made().Resolve(call, 0, nil); err != nil { // a call for no permits would not come across it
		return false, err
	}
	ids, err := parse(call, texts)
	if err != nil || len(ids) == 0 {
		return err == nil, err
	}
	own := s.own(ids)
	for _, g := range own {
		g.enter()
		g.letGo(ids)
	}
	over := true // what is uncertain is carried through, also when a hook of the client panics
	defer func() {
		for _, g := range own {
			g.letGone(ctx, ids, over)
			g.exit()
		}
	}()
	released, err := counter.GiveBack(ctx, s.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Release(s.keys, ids, wake, call)
	})
	over = released || errors.Is(err, errs.Uncertain)
	return released, err
}

// own finds the grants of this process that have one of the ids.
func (s *Semaphore) own(ids []string) (own []*grant) {
	for _, id := range ids {
		found, _ := s.made().Session.Own.Load(id)
		if g, ok := found.(*grant); ok && g.semaphore.counter.Key == s.made().Key && !slices.Contains(own, g) {
			own = append(own, g)
		}
	}
	return own
}

// letGo expects the ids to be gone, from when the renewals that are under way now may find them so.
func (g *grant) letGo(ids []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaving = append(g.leaving, ids...)
}

// letGone ends the expectation. If the ids are gone the grant goes on without them, if others are left.
func (g *grant) letGone(ctx context.Context, ids []string, are bool) {
	g.mu.Lock()
	for _, id := range ids {
		if at := slices.Index(g.leaving, id); at >= 0 {
			g.leaving = slices.Delete(g.leaving, at, at+1)
		}
	}
	if len(g.leaving) == 0 && g.parting != nil {
		defer close(g.parting)
		g.parting = nil
	}
	if !are {
		g.mu.Unlock()
		return
	}
	left := make([]string, 0, len(g.ids)) // a new list: the old one may be on its way to the server
	for _, id := range g.ids {
		if slices.Contains(ids, id) {
			g.semaphore.counter.Session.Own.Delete(id)
		} else {
			left = append(left, id)
		}
	}
	if len(left) > 0 || g.released {
		g.ids = left
		g.mu.Unlock()
		return
	}
	g.released = true // and keeps its last id, to be known by
	g.mu.Unlock()
	g.endAs(ctx, redlatch.EventReleased)
}
