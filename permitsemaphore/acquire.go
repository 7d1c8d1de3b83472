package permitsemaphore

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/settings"
)

// asking is one call of Acquire.
type asking struct {
	semaphore *Semaphore
	set       *settings.Settings
	n         int64
	got       *Permit // when it has succeeded
}

// idsAtOnce is how many ids a script for several waiters has at most, unless the first alone wants more.
const idsAtOnce = 200

// Begin makes an attempt for the callers of behind too that want few. Each attempt has ids of its own: what becomes of those of
// one in doubt is then no concern of the next.
func (a *asking) Begin(behind []counter.Seeker) counter.Attempt {
	t := &attempt{semaphore: a.semaphore}
	t.askings, t.grants = t.room.askings[:0], t.room.grants[:0]
	t.add(a)
	ids := a.n
	for _, other := range behind {
		o := other.(*asking)
		if ids += o.n; ids > idsAtOnce {
			break
		}
		t.add(o)
	}
	return t
}

// Abandon gives the permits back. What is not confirmed goes on in the background.
func (a *asking) Abandon() {
	g := a.got.inner
	a.got.cleanup.Stop()
	go func() { _ = g.Unlock(raise.Background(context.Background(), g.Log())) }()
}

// Owner is by which its events call what was acquired.
func (a *asking) Owner() string {
	g := a.got.inner
	g.tell()
	return text(g.first)
}

// Told has the observer know how what was acquired ends. It may have been lost before.
func (a *asking) Told(of *observe.Hold) {
	g := a.got.inner
	g.told.Store(of)
	g.mu.Lock()
	lost := g.lostLocked()
	g.mu.Unlock()
	if lost != nil {
		g.finish(context.Background(), settings.Lost, lost)
	}
}

// An attempt is to serve several askings in order, with a grant each.
type attempt struct {
	semaphore *Semaphore
	size      *lane.Size // of the semaphore, if one of the askings knows that
	askings   []*asking
	grants    []*grant
	room      struct { // for those of one alone
		askings [1]*asking
		grants  [1]*grant
	}
}

func (t *attempt) add(a *asking) {
	t.askings = append(t.askings, a)
	t.grants = append(t.grants, newGrant(a.semaphore, a.set, mint(int(a.n))))
	if t.size == nil {
		t.size = a.semaphore.counter.Size
	}
}

func (t *attempt) Asks() int       { return len(t.askings) }
func (t *attempt) Unstored() bool  { return true }
func (t *attempt) Announces() bool { return true }

func (t *attempt) Owed() (longest time.Duration) {
	for _, g := range t.grants {
		longest = max(longest, owed(g.lease))
	}
	return longest
}

func (t *attempt) Take(wake scripts.Wake, candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted] {
	if len(t.grants) == 1 && candidate.ID == "" && t.size == nil {
		g := t.grants[0]
		return script.Acquire(t.semaphore.keys, g.ids, g.lease, wake, call)
	}
	wants := make([]script.Want, len(t.grants))
	for i, g := range t.grants {
		wants[i] = script.Want{IDs: g.ids, Lease: g.lease}
	}
	if t.size != nil {
		return script.AcquireSized(t.semaphore.keys, wants, *t.size, wake, candidate, call)
	}
	return script.AcquireInOrder(t.semaphore.keys, wants, wake, candidate, call)
}

func (t *attempt) Undo(wake scripts.Wake, _ lane.Call) scripts.Command[int64] {
	var ids []string
	for _, g := range t.grants {
		ids = append(ids, g.ids...)
	}
	return script.GiveBack(t.semaphore.keys, ids, wake)
}

func (t *attempt) Took(i int, sent time.Time) error {
	if err := t.grants[i].begin(sent); err != nil {
		return err
	}
	t.askings[i].got = newPermit(t.grants[i]) // now: if the observer panics, it is found forgotten
	return nil
}

func (t *attempt) Decline(which []int) {
	for _, i := range which {
		go t.grants[i].giveBackLater(t.grants[i].ids, owed(t.grants[i].lease))
	}
}

// begin starts the life of a grant that the server has confirmed. sent is a moment before the first send that may have
// been executed. An answer that took longer than the lease is no permit any more.
func (g *grant) begin(sent time.Time) error {
	trusted := trust(sent, g.lease)
	if !clock.Now().Before(trusted) {
		go g.giveBackLater(g.ids, owed(g.lease))
		return delivery.Unavailable(fmt.Errorf("the permits were granted, but the answer took longer than their lease of %v; ask for a longer lease",
			g.lease))
	}
	g.since = sent
	g.start(sent, trusted)
	return nil
}

// start has the grant be found by its ids, and kept. It is trusted until then, by what Redis has confirmed at news.
func (g *grant) start(news, trusted time.Time) {
	g.news = news
	if g.since.IsZero() {
		g.since = clock.Now()
	}
	for _, id := range g.ids {
		g.semaphore.counter.Session.Own.Store(id, g)
	}
	g.semaphore.counter.Session.Keep(&g.ticket, g, g.terms(trusted, g.end()))
}
