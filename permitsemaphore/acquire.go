package permitsemaphore

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/settings"
)

// asking is one call of Acquire.
type asking struct {
	counter *counter.Counter
	set     *settings.Settings
	n       int
	got     *grant // when it has succeeded
}

// acquisition makes each attempt with ids of its own: what becomes of those of an attempt in doubt is then no concern of
// the next.
func (a *asking) acquisition() counter.Acquisition {
	return counter.Acquisition{Begin: func(wake scripts.Wake, call lane.Call) counter.Attempt {
		g := newGrant(a.counter, a.set, mint(a.n))
		return counter.Attempt{
			Take: script.Acquire(a.counter.Key, g.ids, g.lease, wake, call),
			Undo: func(wake scripts.Wake) scripts.Command[bool] {
				return scripts.Map(script.GiveBack(a.counter.Key, g.ids, wake), func(n int64) bool { return n > 0 })
			},
			Took: func(sent time.Time) error {
				if err := g.begin(sent); err != nil {
					return err
				}
				a.got = g
				return nil
			},
		}
	}}
}

// begin starts the life of a grant that the server has confirmed. sent is a moment before the first send that may have
// been executed. An answer that took longer than the lease is no permit any more.
func (g *grant) begin(sent time.Time) error {
	trusted := trust(sent, g.lease)
	if !time.Now().Before(trusted) {
		go g.giveBackLater(g.ids)
		return fmt.Errorf("%w: the permits were granted, but the answer took longer than their lease of %v; ask for a longer lease",
			errs.NotAcquired, g.lease)
	}
	g.since = sent
	if g.set.MaxHold > 0 {
		g.end = sent.Add(g.set.MaxHold)
	}
	for _, id := range g.ids {
		g.counter.Session.Own.Store(id, g)
	}
	g.counter.Session.Watchdog.Keep(&g.ticket, g, g.terms(trusted, g.end))
	return nil
}
