package counter

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
)

// A Fate is what is to become of permits that are given back and did not move.
type Fate int

const (
	Back   Fate = iota // they go back
	Unfit              // they may move within the process, if Redis gives them other names
	Unsure             // Redis has to be asked whether they may move
)

// Goods are permits that have names. Permits without names are alike, and the lot says all that there is to
// say of them.
type Goods interface {
	News() time.Time // before Redis was asked when it confirmed them last

	// Suits tells whether the seeker can have its permits as they are.
	Suits(s Seeker) bool

	// Give makes what the seeker gets, and nil if the permits do not suit it any more. TakeBack is for a
	// seeker that has left.
	Give(s Seeker) (gift any)
	TakeBack(gift any)
}

// moved is what a waiter is given when permits have moved to it: without a command, or after one by which
// Redis has confirmed them.
type moved struct {
	gift      any
	confirmed bool
}

func (m moved) path() redlatch.Path {
	if m.confirmed {
		return redlatch.PathConfirmed
	}
	return redlatch.PathLocal
}

// Move moves n permits that are given back to the waiters of this process, in their order. It answers how
// many have not moved, and what is to become of these. goods is nil for permits without names.
func (c *Counter) Move(n int64, goods Goods) (rest int64, fate Fate) {
	l := c.lot()
	if l == nil || c.defaults.Scripted {
		return n, Back
	}
	return l.move(n, goods, cohort.Claim{}, false, false)
}

// MoveKept is Move for permits that Redis was asked about and that are Kept. It waits until the attempt of
// the first waiter ends, for as long as the news is fresh: if the permits went back, the waiter would be told
// of them and ask again, and each release would find it asking.
func (c *Counter) MoveKept(n int64, goods Goods) (rest int64) {
	l := c.lot()
	if l == nil {
		return n
	}
	l.mu.Lock()
	patience := l.freshForLocked(goods)
	l.mu.Unlock()
	claim, claimed := l.queue.ClaimSoon(patience)
	rest, _ = l.move(n, goods, claim, claimed, true)
	return rest
}

// freshForLocked is for how much longer the news of the goods is fresh, or that of the lot where there are
// none.
func (l *lot) freshForLocked(goods Goods) time.Duration {
	streak := l.streak
	if goods != nil {
		streak.News = goods.News()
	}
	return streak.FreshFor(clock.Now())
}

// move begins with the claim, if there is one: then the permits are kept, however old the lot is.
func (l *lot) move(n int64, goods Goods, claim cohort.Claim, claimed, confirmed bool) (rest int64, fate Fate) {
	defer func() {
		if claimed {
			claim.End() // the message of the release wakes the waiter
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	young := claimed || l.youngLocked()
	for n > 0 {
		next, _ := l.queue.Next().(*waiter)
		if next == nil || next.set.Scripted || next.n > n || clock.Now().Before(l.closedUntil) {
			return n, Back
		}
		if young && goods != nil && (l.freshForLocked(goods) < 0 || !goods.Suits(next.seeker)) {
			return n, Unfit
		}
		if young && !claimed {
			claim, claimed = l.queue.Claim()
		}
		// the lot is old; or the waiter's attempt is under way: if the permits went back, it would be told of
		// them and ask again
		if !claimed {
			return n, Unsure
		}
		claimed = false
		who := claim.Who().(*waiter)
		gift, ok := any(nil), who.n <= n && !who.set.Scripted
		if ok && goods != nil {
			gift = goods.Give(who.seeker)
			ok = gift != nil
		}
		if !ok { // another one: the first has left
			claim.Refuse()
			continue
		}
		if !claim.Give(moved{gift, confirmed}, cohort.Bound(-1, who.set.Poll)) {
			if goods != nil {
				goods.TakeBack(gift)
			}
			continue
		}
		n -= who.n
		if after, _ := l.queue.Next().(*waiter); after != nil && after.n < who.n {
			l.queue.Wake() // the process still stands in the process queue with what the waiter before it wants
		}
	}
	return 0, Back
}

// First is the waiter that permits would move to, nil if there is none.
func (c *Counter) First() Seeker {
	if l := c.lot(); l != nil {
		if next, ok := l.queue.Next().(*waiter); ok {
			return next.seeker
		}
	}
	return nil
}
