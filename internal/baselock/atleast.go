package baselock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/listing"
)

// WithAtLeast keeps the lock taken after the last Unlock until its time has passed. The hold is over for the
// program, as after Leave: its contexts have ended and nothing is renewed. Redis still counts the hold, with
// a lease that lasts as long, and a timer gives it back. If the process is gone by then, the lease frees the
// lock.
//
//	holds ── Unlock before the time ──► kept: it still counts in Redis ── the time has passed ──► given back

// rest is for how long the lock has to stay taken after an Unlock of h that is called now. If that is not 0
// then h is kept: no call can give it back, extend it or re-enter it. It is 0 while another hold of the
// tenant is in use, because the Unlock of that one will see to it.
func (h *Hold) rest() time.Duration {
	t, c := h.Tenant.Tenure, h.Tenant
	if c.Set.AtLeast == 0 {
		return 0
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if h.released || h.left || h.lostLocked() != nil {
		return 0
	}
	for other := range c.holdsLocked() {
		if other != h && !other.dropped && !other.over {
			return 0
		}
	}
	rest := c.first.Since.Time().Add(c.Set.AtLeast).Sub(clock.Now())
	if rest > 0 {
		h.dropped, h.left, c.kept = true, true, true
	}
	return max(0, rest)
}

// spare is by how much a lease outlasts the time for which the lock is kept, so that the release comes while
// the lease is trusted.
func spare(rest time.Duration) time.Duration { return rest/50 + 100*time.Millisecond }

// unlockIn ends a hold that is kept, and has it given back when rest has passed. An error says that the lock
// may be free before.
func (h *Hold) unlockIn(ctx context.Context, rest time.Duration) error {
	t := h.Tenant.Tenure
	h.unlimit()
	h.Ending().End(errs.Released)
	err := h.reach(ctx, rest)
	h.Tenant.Adjust()
	stop := listing.Of(t.Base.Session).Keep(t)
	time.AfterFunc(rest, func() {
		stop()
		h.letGo()
	})
	h.Finish(ctx, redlatch.EventReleased, err)
	return err
}

// reach has the lease in Redis last until rest has passed.
func (h *Hold) reach(ctx context.Context, rest time.Duration) error {
	t, c := h.Tenant.Tenure, h.Tenant
	if t.Entry.TrustedUntil().Sub(clock.Now()) >= rest+spare(rest) {
		return nil
	}
	limit, err := t.lockSendToRelease(ctx, c.Set.ReleaseTimeout)
	if err == nil {
		defer t.UnlockSend()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		err = h.lengthen(ctx, rest+spare(rest), delivery.Limit{Outage: limit})
	}
	if err != nil {
		return fmt.Errorf("redlatch: %q is unlocked, and may be free before the %v of WithAtLeast have passed: %w",
			t.Base.Name, c.Set.AtLeast, err)
	}
	return nil
}

// letGo gives back a hold that was kept. What fails goes on in the background, or ends with the lease.
func (h *Hold) letGo() {
	t, c := h.Tenant.Tenure, h.Tenant
	t.Mu.Lock()
	h.dropped, h.left, c.kept = false, false, false
	h.retireLocked()
	t.Mu.Unlock()
	_ = h.giveBack(t.Base.Background(c.Set))
}
