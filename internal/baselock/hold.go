package baselock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Live tells whether the hold can be re-entered.
func (h *Hold) Live() bool {
	h.Tenant.Tenure.Mu.Lock()
	defer h.Tenant.Tenure.Mu.Unlock()
	return !h.released && !h.over && !h.left && h.lostLocked() == nil
}

// Local tells whether the lock came from another hold of this process without a command.
func (h *Hold) Local() bool { return h.Path == Local }

// Passed tells whether another process handed the lock on to this one.
func (h *Hold) Passed() bool { return h.Path == Passed }

// Client tells a test where it is still held.
func (h *Hold) Client() any { return h.Tenant.Tenure.Base.Session.Client }

func (h *Hold) Object() (primitive, name string) {
	return string(h.Tenant.Tenure.Base.Kind.Label), h.Tenant.Tenure.Base.Name
}
func (h *Hold) Owner() string { return h.Tenant.Tenure.ID }

func (h *Hold) Token() int64 {
	h.Tenant.Tenure.Mu.Lock()
	defer h.Tenant.Tenure.Mu.Unlock()
	return h.Tenant.Token
}

// Until is the tenant's trust, or the end of the hold's own if that is sooner, or the moment at which the
// hold ended.
func (h *Hold) Until() time.Time {
	return h.UntilAtMost(func() time.Time {
		t := h.Tenant.Tenure
		t.Mu.Lock()
		until := t.Entry.TrustedUntil()
		if frozen := h.Tenant.until; frozen != 0 {
			until = frozen.Time()
		}
		t.Mu.Unlock()
		if l := h.limit.Load(); l != nil {
			if own := l.ticket.TrustedUntil(); own.Before(until) {
				until = own
			}
		}
		return until
	})
}

// Extend lengthens the lease of the tenure, and the time for which this hold is promised it.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	t := h.Tenant.Tenure
	if err := t.LockSend(ctx); err != nil {
		return fmt.Errorf("redlatch: extending the lease of %q: %w", t.Base.Name, t.Base.Session.Dialing(err))
	}
	defer t.UnlockSend()
	t.Mu.Lock()
	released := h.released || h.left
	t.Mu.Unlock()
	if released {
		return fmt.Errorf("%w: lock %q cannot be extended any more", errs.Released, t.Base.Name)
	}
	return h.lengthen(ctx, h.leaseWithin(time.Now(), lease), delivery.Limit{Outage: h.Tenant.Set.OutageFor(false)})
}

// lengthen is Extend for a caller that has the send lock.
func (h *Hold) lengthen(ctx context.Context, lease time.Duration, limit delivery.Limit) error {
	t := h.Tenant.Tenure
	t.Mu.Lock()
	lost, live := h.lostLocked(), h.Tenant.countedLocked()
	t.Mu.Unlock()
	if lost != nil {
		return lost
	}
	cmd := t.Base.Kind.Recount(t.Subject(live, lease))
	held, receipt, err := delivery.Deliver(ctx, t.Base.Session.Dispatch, cmd, limit)
	if receipt.Doubt || err != nil {
		t.Doubted()
	}
	if err != nil {
		return fmt.Errorf("redlatch: extending the lease of %q: %w", t.Base.Name, t.Base.Session.Dialing(err))
	}
	if !held {
		return t.Lose(watchdog.NotOwned, nil)
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if lost := h.lostLocked(); lost != nil { // meanwhile, by the clock
		return lost
	}
	trusted := watchdog.Trusted(receipt.Sent, lease)
	t.agreeLocked(trusted)
	h.prolongLocked(trusted)
	return nil
}

// Leave ends the hold, and its renewal, unless others of its owner still need that.
func (h *Hold) Leave() {
	if h.drop(true, errs.Released) {
		h.Finish(context.Background(), redlatch.EventLeft, nil)
	}
}

// Forgotten ends a hold that the program has dropped, and its renewal, unless others of its tenant still need
// that.
func (h *Hold) Forgotten(there *holds.Place) {
	t, set := h.Tenant.Tenure, h.Tenant.Set
	// The program has no context of the hold any more, but a goroutine may still wait on the channel that a
	// context's Done returned.
	if !h.drop(false, &redlatch.LossError{Name: t.Base.Name, Owner: t.ID, Reason: redlatch.ReasonForgotten,
		At: time.Now()}) {
		return
	}
	life.Of{Kind: t.Base.Kind.Label, Logger: set.Logger, Holds: []*life.Hold{&h.Hold}}.Forgotten(
		"a hold was dropped without Unlock; it is renewed no longer and ends with its lease", there, t.Base.Name, t.ID)
}

// drop has the lease of h run out, and ends its contexts for that cause. It reports whether h was held until
// then.
func (h *Hold) drop(left bool, cause error) bool {
	t := h.Tenant.Tenure
	t.Mu.Lock()
	if h.released || h.left {
		t.Mu.Unlock()
		return false
	}
	lost := h.lostLocked() != nil
	h.dropped, h.left = true, left
	t.Shared.Close()
	t.Mu.Unlock()
	h.Ending().End(cause)
	h.unlimit()
	if !lost {
		h.Tenant.Adjust()
	}
	return !lost
}

var _ holds.Hold = (*Hold)(nil)
var _ session.Renewer = (*Tenure)(nil)
