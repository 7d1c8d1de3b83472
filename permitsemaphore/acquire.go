package permitsemaphore

import (
	"cmp"
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
	"github.com/redlatch/redlatch/internal/watchdog"
)

// asking is one call of Acquire.
type asking struct {
	semaphore *Semaphore
	set       *settings.Settings
	n         int64
	size      *lane.Size // of the semaphore, as far as the attempt knows
	got       *Permit    // when it has succeeded
}

// Begin makes an attempt, which takes nothing for others: their permits have leases of their own. Each has
// ids of its own: what becomes of those of one in doubt is then no concern of the next.
func (a *asking) Begin(_ int64, size *lane.Size) counter.Attempt {
	a.size = cmp.Or(a.semaphore.counter.Size, size)
	g := newGrant(a.semaphore, a.set, mint(int(a.n)))
	g.asking = a
	return g
}

// Spare has nothing to give back.
func (a *asking) Spare(int64) {}

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

// Told has the observer know how what was acquired ends.
func (a *asking) Told(of *observe.Hold) { a.got.inner.Told(of) }

// A grant begins as an attempt to have its ids for an asking.

func (g *grant) Unstored() time.Duration { return owed(g.lease) }
func (g *grant) Announces() bool         { return true }

func (g *grant) Take(wake scripts.Wake, candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted] {
	switch size := g.asking.size; {
	case size != nil:
		return script.AcquireSized(g.semaphore.keys, g.ids, g.lease, *size, wake, candidate, call)
	case candidate.ID != "":
		return script.Wait(g.semaphore.keys, g.ids, g.lease, wake, candidate, call)
	}
	return script.Acquire(g.semaphore.keys, g.ids, g.lease, wake, call)
}

func (g *grant) Undo(wake scripts.Wake, _ lane.Call) scripts.Command[int64] {
	g.asking = nil // it may have another grant by now, whose Permit it would keep alive
	return script.GiveBack(g.semaphore.keys, g.ids, wake)
}

func (g *grant) Took(sent time.Time) error {
	a := g.asking
	g.asking = nil
	if err := g.begin(sent); err != nil {
		return err
	}
	a.got = newPermit(g) // now: if the observer panics, it is found forgotten
	return nil
}

// begin starts the life of a grant that the server has confirmed. sent is a moment before the first send that
// may have been executed. An answer that took longer than the lease is no permit any more.
func (g *grant) begin(sent time.Time) error {
	trusted := trust(sent, g.lease)
	if !clock.Now().Before(trusted) {
		go g.giveBackLater(g.ids, owed(g.lease))
		return delivery.Unavailable(fmt.Errorf("the permits were granted, but the answer took longer than their lease of %v; ask for a longer lease",
			g.lease))
	}
	g.start(sent, sent, trusted)
	return nil
}

// start has the grant be found by its ids, and kept, as one that is held since then. It is trusted until
// trusted, by what Redis has confirmed at news.
func (g *grant) start(since, news, trusted time.Time) {
	g.Since, g.news = watchdog.MomentOf(since), news
	for _, id := range g.ids {
		g.semaphore.counter.Session.Own.Store(id, g)
	}
	g.semaphore.counter.Session.Keep(&g.ticket, g, g.terms(trusted, g.end()))
}
