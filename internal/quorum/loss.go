package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/loss"
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
	if h.retired || h.lostLocked() != nil {
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

// lostLocked is why the hold was lost, nil if it was not.
func (h *Hold) lostLocked() *redlatch.LossError { return h.loss.Err() }

// loseLocked ends the hold, once, and unlocks h.mu. It waits for nothing: a member is over and may not yet
// know more of its own loss.
func (h *Hold) loseLocked(detail string, cause error) error {
	if lost := h.lostLocked(); lost != nil {
		defer h.mu.Unlock()
		return lost
	}
	err := &redlatch.LossError{Name: h.call.Name, Reason: redlatch.ReasonMembers, Detail: detail, At: time.Now(),
		Cause: cause}
	h.loss = &loss.Loss{}
	open := h.loss.Begin(err, errors.Is(cause, errs.Lost))
	members := h.members
	if h.timer != nil {
		h.timer.Stop()
	}
	if !h.given {
		h.timer = time.AfterFunc(Grace, h.giveBackRest)
	}
	h.mu.Unlock()
	h.ending.End(err)
	h.free()
	if !open {
		h.tellLoss(err)
		return err
	}
	l := h.loss
	raise.Go(func() {
		told := explained(err, members)
		l.Tell(told)
		h.tellLoss(told)
	}, func(raised *raise.Panic) { raised.Log(h.log()) })
	return err
}

// explained is the loss with what its members know of theirs, which it waits for.
func explained(err *redlatch.LossError, members []holds.Member) *redlatch.LossError {
	told := *err
	told.Forced = forcedIn(err.Cause) // what Unlock has found
	for _, m := range members {
		cause := m.Ending().Cause()
		member, ok := m.Hold.(interface{ Explain(error) error })
		if !ok || !errors.Is(cause, errs.Lost) {
			continue
		}
		more := member.Explain(cause)
		if cause == err.Cause {
			told.Cause = more
		}
		told.Forced = cmp.Or(told.Forced, forcedIn(more))
	}
	return &told
}

// forcedIn is who has taken something by force, as one of the losses in err says.
func forcedIn(err error) string {
	switch err := err.(type) {
	case *redlatch.LossError:
		return cmp.Or(err.Forced, forcedIn(err.Cause))
	case interface{ Unwrap() error }:
		return forcedIn(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			if forced := forcedIn(one); forced != "" {
				return forced
			}
		}
	}
	return ""
}

// tellLoss has the log and the observer know.
func (h *Hold) tellLoss(lost *redlatch.LossError) {
	if logger := h.call.Set.Logger; logger != nil {
		logger.Warn("redlatch: lock lost", "lock.name", errs.Short(h.call.Name), "lock.primitive", h.call.Kind,
			"reason", lost.Reason, "detail", lost.Detail,
			"cause", lost.Cause, "forced", lost.Forced)
	}
	h.finish(context.Background(), settings.Lost, lost)
}

// Explain adds to the loss of h what was found out about it, and waits for that. Another error is left as it
// is.
func (h *Hold) Explain(err error) error {
	h.mu.Lock()
	l := h.loss
	h.mu.Unlock()
	return l.Explain(err)
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
