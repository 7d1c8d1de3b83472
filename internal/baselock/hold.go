package baselock

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A hold is one acquisition of a tenant: the first, or a re-entry.
type hold struct {
	tenant *tenant
	life.Hold
	limit atomic.Pointer[limit] // nil while it lasts as long as its tenure; see limit.go

	group int32 // it counts with the holds of its tenant that have the same; see join.go
	path  path

	// The rest is guarded by the mutex of the tenure.

	renewed  bool // it has no lease of its own, so the watchdog renews the tenure while it lives
	released bool // given back, or on the way
	dropped  bool // unreachable for the program, or left: its lease runs out
	left     bool // by Leave
	over     bool // its own limit has ended it, and not the tenure's
}

// live tells whether the hold can be re-entered.
func (h *hold) live() bool {
	h.tenant.tenure.mu.Lock()
	defer h.tenant.tenure.mu.Unlock()
	return !h.released && !h.over && !h.left && h.lostLocked() == nil
}

// Local tells whether the lock came from another hold of this process without a command.
func (h *hold) Local() bool { return h.path == local }

// Passed tells whether another process handed the lock on to this one.
func (h *hold) Passed() bool { return h.path == passed }

// Client tells a test where it is still held.
func (h *hold) Client() any { return h.tenant.tenure.base.Session.Client }

func (h *hold) Object() (primitive, name string) {
	return string(h.tenant.tenure.base.Kind.Label), h.tenant.tenure.base.Name
}
func (h *hold) Owner() string { return h.tenant.tenure.id }

func (h *hold) Token() int64 {
	h.tenant.tenure.mu.Lock()
	defer h.tenant.tenure.mu.Unlock()
	return h.tenant.token
}

// Until is the tenant's trust, or the end of the hold's own if that is sooner, or the moment at which the hold
// ended.
func (h *hold) Until() time.Time {
	return h.UntilAtMost(func() time.Time {
		t := h.tenant.tenure
		t.mu.Lock()
		until := t.entry.TrustedUntil()
		if frozen := h.tenant.until; frozen != 0 {
			until = frozen.Time()
		}
		t.mu.Unlock()
		if l := h.limit.Load(); l != nil {
			if own := l.ticket.TrustedUntil(); own.Before(until) {
				until = own
			}
		}
		return until
	})
}

// Unlock gives the hold back. Its contexts end first, so that the work stops before another holder starts.
func (h *hold) Unlock(ctx context.Context) error {
	if rest := h.rest(); rest > 0 {
		return h.unlockIn(ctx, rest)
	}
	if !h.retire() {
		return fmt.Errorf("%w: lock %q was unlocked before by this hold", errs.Released, h.tenant.tenure.base.Name)
	}
	err := h.Explain(h.giveBack(ctx))
	h.Finish(ctx, redlatch.EventReleased, err)
	return err
}

// retire marks the hold as given back and reports whether it was not before.
func (h *hold) retire() bool {
	t := h.tenant.tenure
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.released || h.left {
		return false
	}
	h.retireLocked()
	return true
}

func (h *hold) retireLocked() {
	c := h.tenant
	h.released = true
	if c.inner != nil {
		*c.inner = slices.DeleteFunc(*c.inner, func(other *hold) bool { return other == h })
	}
}

// Extend lengthens the lease of the tenure, and the time for which this hold is promised it.
func (h *hold) Extend(ctx context.Context, lease time.Duration) error {
	t := h.tenant.tenure
	if err := t.lockSend(ctx); err != nil {
		return fmt.Errorf("redlatch: extending the lease of %q: %w", t.base.Name, t.base.Session.Dialing(err))
	}
	defer t.unlockSend()
	t.mu.Lock()
	released := h.released || h.left
	t.mu.Unlock()
	if released {
		return fmt.Errorf("%w: lock %q cannot be extended any more", errs.Released, t.base.Name)
	}
	return h.lengthen(ctx, h.leaseWithin(time.Now(), lease), delivery.Limit{Outage: h.tenant.set.OutageFor(false)})
}

// lengthen is Extend for a caller that has the send lock.
func (h *hold) lengthen(ctx context.Context, lease time.Duration, limit delivery.Limit) error {
	t := h.tenant.tenure
	t.mu.Lock()
	lost, live := h.lostLocked(), h.tenant.countedLocked()
	t.mu.Unlock()
	if lost != nil {
		return lost
	}
	cmd := t.base.Kind.Recount(t.subject(live, lease))
	held, receipt, err := delivery.Deliver(ctx, t.base.Session.Dispatch, cmd, limit)
	if receipt.Doubt || err != nil {
		t.doubted()
	}
	if err != nil {
		return fmt.Errorf("redlatch: extending the lease of %q: %w", t.base.Name, t.base.Session.Dialing(err))
	}
	if !held {
		return t.lose(watchdog.NotOwned, nil)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if lost := h.lostLocked(); lost != nil { // meanwhile, by the clock
		return lost
	}
	trusted := watchdog.Trusted(receipt.Sent, lease)
	t.agreeLocked(trusted)
	h.prolongLocked(trusted)
	return nil
}

// Leave ends the hold, and its renewal, unless others of its owner still need that.
func (h *hold) Leave() {
	if h.drop(true, errs.Released) {
		h.Finish(context.Background(), redlatch.EventLeft, nil)
	}
}

// Forgotten ends a hold that the program has dropped, and its renewal, unless others of its tenant still need
// that.
func (h *hold) Forgotten(there *holds.Place) {
	t, set := h.tenant.tenure, h.tenant.set
	// The program has no context of the hold any more, but a goroutine may still wait on the channel that a
	// context's Done returned.
	if !h.drop(false, &redlatch.LossError{Name: t.base.Name, Owner: t.id, Reason: redlatch.ReasonForgotten,
		At: time.Now()}) {
		return
	}
	life.Of{Kind: t.base.Kind.Label, Logger: set.Logger, Holds: []*life.Hold{&h.Hold}}.Forgotten(
		"a hold was dropped without Unlock; it is renewed no longer and ends with its lease", there, t.base.Name, t.id)
}

// drop has the lease of h run out, and ends its contexts for that cause. It reports whether h was held until
// then.
func (h *hold) drop(left bool, cause error) bool {
	t := h.tenant.tenure
	t.mu.Lock()
	if h.released || h.left {
		t.mu.Unlock()
		return false
	}
	lost := h.lostLocked() != nil
	h.dropped, h.left = true, left
	t.shared.Close()
	t.mu.Unlock()
	h.Ending().End(cause)
	h.unlimit()
	if !lost {
		h.tenant.adjust()
	}
	return !lost
}

var _ holds.Hold = (*hold)(nil)
var _ session.Renewer = (*tenure)(nil)
