package baselock

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/watchdog"
	"github.com/redlatch/redlatch/internal/why"
)

// A tenure may be lost in any of these ways:
//
//	a renewal finds nothing             its answer has the notice of who has taken the lock by force, if one was left
//	another command finds nothing       the notice is asked for afterwards, without the send lock
//	the watchdog's clock                no server is asked
//
// The contexts end before anything else. Where Redis has no notice, the server is asked whether it was
// restarted. The log, the observer and Unlock wait for that, but nothing is held up that another hold, or
// call, waits for.

// Gone notes what a renewal has found in place of the tenure. forced is the notice that says who has taken the
// lock by force; it is empty where there is none.
func (t *tenure) Gone(forced string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rareLocked().loss.Found(forced)
}

// Lost is called by the watchdog. A loss that comes when the last hold has just been given back is told to no
// observer.
func (t *tenure) Lost(reason string, cause error) {
	t.mu.Lock()
	over := t.tenant.live == 0
	t.mu.Unlock()
	if !over {
		_ = t.lose(redlatch.LossReason(reason), cause) // the holds' contexts carry it
		t.outlived(reason)
	}
}

// lostLocked is why the tenure is lost, nil if it is not.
func (t *tenure) lostLocked() *redlatch.LossError { return t.rare.loss.Err() }

// lose ends all holds of the tenant, once, and returns what is known about the loss. It waits for nothing.
func (t *tenure) lose(reason redlatch.LossReason, cause error) error {
	err := &redlatch.LossError{Name: t.base.Name, Owner: t.id, Reason: reason, At: time.Now(), Cause: cause}
	t.mu.Lock()
	l := &t.rareLocked().loss
	if !l.Begin(err, reason == watchdog.NotOwned && cause == nil) {
		defer t.mu.Unlock()
		return l.Err()
	}
	timeout := t.tenant.set.WatchdogTimeout
	t.shared.Close()
	ended := slices.Collect(t.tenant.holdsLocked())
	of := life.Of{Thing: "lock", Kind: t.base.Kind.Label, Logger: t.tenant.set.Logger}
	t.mu.Unlock()
	// The contexts end first: the work has to stop, and nothing that waits for a mutex may keep the news from
	// it.
	for _, h := range ended {
		h.Ending().End(err)
	}
	t.forget()
	t.unannounce(false)
	t.base.Kind.Ways.Over(t)
	for _, h := range ended {
		h.unlimit()
		of.Holds = append(of.Holds, &h.Hold)
	}
	gone := why.Gone{Key: t.base.Key, Owners: []string{t.id}, Since: t.post.Since.Time()}
	return l.Tell(of, l.Find(t.base.Session, gone, timeout))
}

// Explain adds to the loss of h what was found out about it, and waits for that. Another error is left as it
// is.
func (h *hold) Explain(err error) error {
	h.tenant.tenure.mu.Lock()
	l := &h.tenant.tenure.rare.loss
	h.tenant.tenure.mu.Unlock()
	return l.Explain(err)
}
