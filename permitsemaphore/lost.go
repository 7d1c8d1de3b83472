package permitsemaphore

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/watchdog"
	"github.com/redlatch/redlatch/internal/why"
)

// gone is why a grant is lost of which a permit is missing.
const gone = "a permit is not in the semaphore any more: it expired, was released by its id, or went with the semaphore"

// Gone is told by a renewal that a permit is missing, and the notice of who has taken it by force, if there
// is one.
func (g *grant) Gone(forced string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loss.Found(forced)
}

// Lost is called by the watchdog. It may come when the permits have just been given back, and means nothing
// then.
func (g *grant) Lost(reason string, cause error) {
	g.mu.Lock()
	over := g.released
	g.mu.Unlock()
	if over {
		return
	}
	if reason == watchdog.HoldOver && (g.set.MaxHold == 0 ||
		time.Until(g.end()) > watchdog.Margin(g.set.WatchdogTimeout)) {
		reason = watchdog.LeaseOver // the end was that of a lease made shorter
	}
	_ = g.lose(redlatch.LossReason(reason), cause) // the contexts carry it
}

// lose ends the grant, once, and returns what is known about the loss. As that of a lock it waits for
// nothing.
func (g *grant) lose(reason redlatch.LossReason, cause error) error {
	err := &redlatch.LossError{Name: g.semaphore.counter.Name, Owner: g.Owner(), Reason: reason, At: time.Now(),
		Cause: cause}
	if reason == redlatch.ReasonTaken {
		err.Detail = gone
	}
	g.mu.Lock()
	first, ids := g.loss.Begin(err, reason == redlatch.ReasonTaken), texts(g.ids)
	g.mu.Unlock()
	if !first {
		return g.loss.Err()
	}
	g.Ending().End(err) // first: nothing that waits for a mutex may keep the news from the work
	g.leave()
	c := g.semaphore.counter
	gone := why.Gone{Key: c.Key, Owners: ids, Since: g.Since.Time()}
	return g.loss.Tell(g.about(), g.loss.Find(c.Session, gone, g.set.WatchdogTimeout))
}
