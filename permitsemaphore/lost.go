package permitsemaphore

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/loss"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// gone is why a grant is lost of which a permit is missing.
const gone = "a permit is not in the semaphore any more: it expired, was released by its id, or went with the semaphore"

// lostLocked is why the grant is lost, nil if it is not.
func (g *grant) lostLocked() *redlatch.LossError { return g.loss.Err() }

// Gone is told by a renewal that a permit is missing, and the notice of who has taken it by force, if there
// is one.
func (g *grant) Gone(forced string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lostLocked() == nil {
		g.lossLocked().Found(forced)
	}
}

// lossLocked is what is known of the loss of the grant, of which there may be none.
func (g *grant) lossLocked() *loss.Loss {
	if g.loss == nil {
		g.loss = &loss.Loss{}
	}
	return g.loss
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
	if lost := g.lostLocked(); lost != nil {
		defer g.mu.Unlock()
		return lost
	}
	l := g.lossLocked()
	open := l.Begin(err, reason == redlatch.ReasonTaken)
	told, ids := l.Err(), texts(g.ids)
	g.mu.Unlock()
	g.ending.End(err) // first: nothing that waits for a mutex may keep the news from the work
	g.leave()
	if !open {
		g.tellLoss(told)
		return told
	}
	raise.Go(func() {
		gone := session.Gone{Key: g.semaphore.counter.Key, Owners: ids, Since: clock.Aged(g.since)}
		g.tellLoss(l.Find(g.semaphore.counter.Session, gone, g.set.WatchdogTimeout))
	}, func(raised *raise.Panic) { raised.Log(g.Log()) })
	return err
}

// tellLoss has the log and the observer know.
func (g *grant) tellLoss(lost *redlatch.LossError) {
	session.Logger(g.set.Logger).Warn("redlatch: permit lost", "lock.name", lost.Name,
		"lock.primitive", redlatch.KindPermitSemaphore, "lock.owner", lost.Owner,
		"reason", lost.Reason, "detail", lost.Detail, "cause", lost.Cause, "forced", lost.Forced)
	g.finish(context.Background(), settings.Lost, lost)
}

// explain adds to the loss of g what was found out about it, and waits for that. Another error is left as it
// is.
func (g *grant) explain(err error) error {
	g.mu.Lock()
	l := g.loss
	g.mu.Unlock()
	return l.Explain(err)
}
