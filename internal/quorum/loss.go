package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// Ended is called when a member has ended, by Unlock too.
func (h *Hold) Ended(cause error) {
	h.mu.Lock()
	h.over++
	left := len(h.members) - h.over
	if h.retired || left >= h.call.Need {
		h.mu.Unlock()
		return
	}
	h.loseLocked(h.shortage(left), cause)
}

func (h *Hold) shortage(left int) string {
	return fmt.Sprintf("%d of its members are left and it needs %d", left, h.call.Need)
}

// check ends a hold whose trust is over by the clock.
func (h *Hold) check() {
	left := time.Until(h.trust())
	h.mu.Lock()
	if h.retired || h.lost != nil {
		h.mu.Unlock()
		return
	}
	if left > 0 {
		h.timer.Reset(left)
		h.mu.Unlock()
		return
	}
	h.expired = true
	h.loseLocked("too few of its members can be trusted any longer", nil)
}

// loseLocked ends the hold, once, and unlocks h.mu.
func (h *Hold) loseLocked(detail string, cause error) error {
	if h.lost != nil {
		defer h.mu.Unlock()
		return h.lost
	}
	loss := &redlatch.LossError{Name: h.call.Name, Reason: redlatch.ReasonMembers, Detail: detail, At: time.Now(), Cause: cause}
	h.lost = loss
	if h.timer != nil {
		h.timer.Stop()
	}
	if !h.given {
		h.timer = time.AfterFunc(Grace, h.giveBackRest)
	}
	h.mu.Unlock()
	h.ending.End(loss)
	h.free()
	if logger := h.call.Set.Logger; logger != nil {
		logger.Warn("redlatch: lock lost", "lock.name", errs.Short(h.call.Name), "lock.primitive", h.call.Kind, "reason", loss.Reason, "detail", loss.Detail, "cause", loss.Cause)
	}
	h.finish(context.Background(), settings.Lost, loss)
	return loss
}

// giveBackRest is for a hold that is not unlocked.
func (h *Hold) giveBackRest() {
	h.mu.Lock()
	given := h.given
	h.given = true
	members := h.members
	h.mu.Unlock()
	if !given {
		h.giveBackBehind(members)
	}
}

// giveBackBehind gives the members back where no call waits for it.
func (h *Hold) giveBackBehind(members []holds.Member) {
	GiveBack(raise.Background(context.Background(), h.log()), h.log(), members)
}
