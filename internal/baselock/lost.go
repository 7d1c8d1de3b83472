package baselock

import (
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/loss"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
	"github.com/redlatch/redlatch/internal/why"
)

// An owner may be lost in any of these ways:
//
//	a renewal finds nothing             its answer has the notice of who has taken the lock by force, if one was left
//	another command finds nothing       the notice is asked for afterwards, without the send lock
//	the watchdog's clock                no server is asked
//
// The contexts end before anything else. Where Redis has no notice, the server is asked whether it was
// restarted. The log, the observer and Unlock wait for that, but nothing is held up that another hold, or
// call, waits for.

// Gone is told by a renewal what it has found in place of the owner: the notice of who has taken the lock by
// force, or none.
func (o *owner) Gone(forced string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lostLocked() == nil {
		o.lossLocked().Found(forced)
	}
}

// Lost is called by the watchdog. When the last hold has just been given back it is told to no observer.
func (o *owner) Lost(reason string, cause error) {
	o.mu.Lock()
	over := o.live == 0
	o.mu.Unlock()
	if !over {
		_ = o.lose(redlatch.LossReason(reason), cause) // the holds' contexts carry it
		o.outlived(reason)
	}
}

// lossLocked is what is known of the loss of the owner, of which there may be none.
func (o *owner) lossLocked() *loss.Loss {
	if o.loss == nil {
		o.loss = &loss.Loss{}
	}
	return o.loss
}

// lostLocked is why the owner is lost, nil if it is not.
func (o *owner) lostLocked() *redlatch.LossError { return o.loss.Err() }

// lose ends all holds of the owner, once, and returns what is known about the loss. It waits for nothing.
func (o *owner) lose(reason redlatch.LossReason, cause error) error {
	err := &redlatch.LossError{Name: o.base.Name, Owner: o.id, Reason: reason, At: time.Now(), Cause: cause}
	o.mu.Lock()
	if lost := o.lostLocked(); lost != nil {
		defer o.mu.Unlock()
		return lost
	}
	l := o.lossLocked()
	open := l.Begin(err, reason == watchdog.NotOwned && cause == nil)
	told := l.Err()
	o.shared.Close()
	shared := slices.Collect(o.sharedLocked())
	o.mu.Unlock()
	// The contexts end first: the work has to stop, and nothing that waits for a mutex may keep the news from
	// it.
	for _, h := range shared {
		h.ending.End(err)
	}
	o.base.Session.Watchdog.Forget(&o.ticket)
	o.unannounce(false)
	o.overTurn()
	for _, h := range shared {
		h.unlimit()
	}
	if !open {
		o.tellLoss(shared, told)
		return told
	}
	raise.Go(func() {
		gone := why.Gone{Key: o.base.Key, Owners: []string{o.id}, Since: o.first.since.Time()}
		o.tellLoss(shared, l.Find(o.base.Session, gone, o.set.WatchdogTimeout))
	}, func(raised *raise.Panic) { raised.Log(o.Log()) })
	return err
}

// tellLoss has the log and the observers know.
func (o *owner) tellLoss(shared []*hold, lost *redlatch.LossError) {
	session.Logger(o.set.Logger).Warn("redlatch: lock lost", "lock.name", o.base.Name,
		"lock.primitive", o.base.Kind.Label, "lock.owner", o.id,
		"reason", lost.Reason, "detail", lost.Detail, "cause", lost.Cause, "forced", lost.Forced)
	for _, h := range shared {
		h.finish(context.Background(), settings.Lost, lost)
	}
}

// Explain adds to the loss of h what was found out about it, and waits for that. Another error is left as it
// is.
func (h *hold) Explain(err error) error {
	h.owner.mu.Lock()
	l := h.owner.loss
	h.owner.mu.Unlock()
	return l.Explain(err)
}
