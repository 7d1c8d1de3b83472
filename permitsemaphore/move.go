package permitsemaphore

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/scripts"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/settings"
)

// A permit that is released goes to the first waiter of its process, with its id if the program has never
// been told that. Every process that knows an id may release the permit. So an id that a program was told
// never goes to another holder, and Redis swaps it for a fresh one.
//
//	             no program was told the ids, the terms are equal, the news is young
//	Release ────────────────────────────────────────────────────────────────────► the waiter has the ids
//	   │ else, where a call waits: one script
//	   ├──────────► the ids are gone, fresh ones are there ───────────────────────► the waiter has the fresh ones
//	   └──────────► given back: another process waits, or there is no semaphore, or it has a debt
//
// Whether the program was told is decided under the mutex of the grant, together with the move. Afterwards
// the old Permit has no id to tell.

// inspections is how often this program was shown the ids of a semaphore. An id that was there then counts as
// told.
var inspections atomic.Int64

// least is how much of its lease a permit that moves must have left, at most.
const least = 5 * time.Second

// News is a moment before Redis was asked when it confirmed the ids.
func (g *grant) News() time.Time { return g.news }

// Suits tells whether the seeker can have the permits with the ids that they have. The watchdog renews them,
// as it would the seeker's own, and nothing is under way that could change their leases; or the ids were made
// for terms that are the seeker's.
func (g *grant) Suits(s counter.Seeker) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.suitsLocked(s.(*asking))
}

func (g *grant) suitsLocked(a *asking) bool {
	switch {
	case termsOf(g.set) != termsOf(a.set), int64(len(g.ids)) < a.n, len(g.leaving) > 0:
		return false
	case g.shown, g.seen != inspections.Load():
		return false
	case !g.swapped && (!g.renewing || g.changed || g.set.MaxHold > 0):
		return false
	}
	return g.lease == NoExpiry || g.until.Sub(clock.Now()) >= min(g.lease/2, least)
}

// terms are what a permit is wanted for.
type terms struct {
	lease, most, timeout time.Duration
	noLease              bool
}

func termsOf(set *settings.Settings) terms {
	return terms{set.Lease, set.MaxHold, set.WatchdogTimeout, set.NoExpiry}
}

// Give makes the grant by which the seeker has the first of the ids.
func (g *grant) Give(s counter.Seeker) any {
	a := s.(*asking)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.suitsLocked(a) {
		return nil
	}
	heir, since := newGrant(a.semaphore, a.set, g.ids[:a.n:a.n]), clock.Now()
	g.ids, heir.seen = g.ids[a.n:], g.seen
	if g.swapped {
		since = g.news
	}
	heir.start(since, g.news, g.until)
	return heir
}

// TakeBack takes the ids of a grant that a seeker did not get.
func (g *grant) TakeBack(gift any) {
	heir := gift.(*grant)
	heir.leave()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids = append(heir.ids, g.ids...)
}

// Receive takes a grant that has moved.
func (a *asking) Receive(gift any) { a.got = newPermit(gift.(*grant)) }

// handOn gives the permits back, to the calls of this process that wait or else to Redis. It tells whether
// all were there.
func (g *grant) handOn(ctx context.Context, ids []string) (whole bool, err error) {
	c := g.semaphore.counter
	left, fate := c.Move(int64(len(ids)), g)
	if left == 0 {
		return true, nil
	}
	ids = ids[int64(len(ids))-left:]
	first, ok := c.First().(*asking)
	if !ok || fate == counter.Back {
		return g.giveBack(ctx, ids, 0)
	}
	return g.swap(ctx, ids, fate == counter.Unsure, first)
}

// swap has Redis give the permits fresh ids for a seeker and those behind it, and tells whether all were
// there. If it is unsure whether another process waits, Redis looks, and takes them back for that one.
func (g *grant) swap(ctx context.Context, ids []string, unsure bool, a *asking) (whole bool, err error) {
	c, session := g.semaphore.counter, ""
	if unsure {
		session = c.Session.ID
	}
	fresh := newGrant(a.semaphore, a.set, mint(len(ids)))
	longest := max(g.owedWithin(), owed(fresh.lease))
	all := slices.Concat(ids, fresh.ids)
	swapped, receipt, err := release(ctx, g, all, longest, func(wake scripts.Wake) scripts.Command[script.Swapped] {
		return script.Swap(g.semaphore.keys, ids, fresh.ids, session, fresh.lease, wake)
	})
	if err != nil {
		return true, err
	}
	kept := fresh.ids[:0:0]
	for i, there := range swapped.There {
		if there {
			kept = append(kept, fresh.ids[i])
		}
	}
	fresh.ids, whole = kept, len(kept) == len(ids) || len(kept) == 0 && g.before(receipt)
	if !c.Answered(swapped.Answer, receipt.Sent) {
		return whole, nil
	}
	fresh.swapped, fresh.news, fresh.until = true, receipt.Sent, trust(receipt.Sent, fresh.lease)
	if left := c.MoveKept(int64(len(kept)), fresh); left > 0 { // the waiters have left, and no program has had these
		_, err = fresh.giveBack(ctx, fresh.ids, 0)
	}
	return whole, err
}

var _ counter.Goods = (*grant)(nil)
