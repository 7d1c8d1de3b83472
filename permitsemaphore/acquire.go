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
	"github.com/redlatch/redlatch/internal/watchdog"
)

// asking is one call of Acquire.
type asking struct {
	semaphore *Semaphore
	set       *settings.Settings
	n         int64
	got       *Permit // when it has succeeded
}

// Begin makes an attempt, which takes nothing for others: their permits have leases of their own. Each has
// ids of its own: what becomes of those of one in doubt is then no concern of the next.
func (a *asking) Begin(_ int64, size *lane.Size) counter.Attempt {
	t := &attempt{a, newGrant(a.semaphore, a.set, mint(int(a.n)))}
	if size != nil && a.semaphore.counter.Size == nil {
		return &sizedAttempt{t, *size}
	}
	return t
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

// An attempt is to bring an asking its grant.
type attempt struct {
	asking *asking
	grant  *grant
}

func (t *attempt) Unstored() bool      { return true }
func (t *attempt) Announces() bool     { return true }
func (t *attempt) Owed() time.Duration { return owed(t.grant.lease) }

func (t *attempt) Take(wake scripts.Wake, candidate row.Candidate, call lane.Call) scripts.Command[lane.Granted] {
	s, g := t.asking.semaphore, t.grant
	switch {
	case s.counter.Size != nil:
		return script.AcquireSized(s.keys, g.ids, g.lease, *s.counter.Size, wake, candidate, call)
	case candidate.ID != "":
		return script.Wait(s.keys, g.ids, g.lease, wake, candidate, call)
	}
	return script.Acquire(s.keys, g.ids, g.lease, wake, call)
}

// A sizedAttempt is for a seeker that does not know the size, and a call behind it does.
type sizedAttempt struct {
	*attempt
	size lane.Size
}

func (t *sizedAttempt) Take(wake scripts.Wake, candidate row.Candidate,
	call lane.Call) scripts.Command[lane.Granted] {
	g := t.grant
	return script.AcquireSized(t.asking.semaphore.keys, g.ids, g.lease, t.size, wake, candidate, call)
}

func (t *attempt) Undo(wake scripts.Wake, _ lane.Call) scripts.Command[int64] {
	return script.GiveBack(t.asking.semaphore.keys, t.grant.ids, wake)
}

func (t *attempt) Took(sent time.Time) error {
	if err := t.grant.begin(sent); err != nil {
		return err
	}
	t.asking.got = newPermit(t.grant) // now: if the observer panics, it is found forgotten
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
