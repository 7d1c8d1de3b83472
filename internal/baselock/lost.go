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

// Gone is called by the watchdog: a renewal has found that the field of the tenure is gone. forced is the
// notice that its answer had, which says by whom the lock was taken by force. It is empty if there was none.
func (t *Tenure) Gone(forced string) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.rareLocked().loss.Found(forced)
}

// Lost is called by the watchdog. A loss that comes when the last hold has just been given back is told to no
// observer.
func (t *Tenure) Lost(reason string, cause error) {
	t.Mu.Lock()
	over := t.Tenant.Live == 0
	t.Mu.Unlock()
	if !over {
		_ = t.Lose(redlatch.LossReason(reason), cause) // the holds' contexts carry it
		t.outlived(reason)
	}
}

// LostLocked is why the tenure is lost, nil if it is not.
func (t *Tenure) LostLocked() *redlatch.LossError { return t.rare.loss.Err() }

// Lose ends all holds of the tenant, once, and returns what is known about the loss. It waits for nothing.
func (t *Tenure) Lose(reason redlatch.LossReason, cause error) error {
	err := &redlatch.LossError{Name: t.Base.Name, Owner: t.ID, Reason: reason, At: time.Now(), Cause: cause}
	t.Mu.Lock()
	l := &t.rareLocked().loss
	if !l.Begin(err, reason == watchdog.NotOwned && cause == nil) {
		defer t.Mu.Unlock()
		return l.Err()
	}
	timeout := t.Tenant.Set.WatchdogTimeout
	t.Shared.Close()
	ended := slices.Collect(t.Tenant.holdsLocked())
	of := life.Of{Thing: "lock", Kind: t.Base.Kind.Label, Logger: t.Tenant.Set.Logger}
	t.Mu.Unlock()
	// The contexts end first: the work has to stop, and nothing that waits for a mutex may keep the news from
	// it.
	for _, h := range ended {
		h.Ending().End(err)
	}
	t.Forget()
	t.Unannounce(false)
	t.Base.Kind.Ways.Over(t)
	for _, h := range ended {
		h.unlimit()
		of.Holds = append(of.Holds, &h.Hold)
	}
	gone := why.Gone{Key: t.Base.Key, Owners: []string{t.ID}, Since: t.Post.Since.Time()}
	return l.Tell(of, l.Find(t.Base.Session, gone, timeout))
}

// Explain adds to the loss of h what was found out about it, and waits for that. Another error is left as it
// is.
func (h *Hold) Explain(err error) error {
	h.Tenant.Tenure.Mu.Lock()
	l := &h.Tenant.Tenure.rare.loss
	h.Tenant.Tenure.Mu.Unlock()
	return l.Explain(err)
}
