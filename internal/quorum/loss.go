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
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/raise"
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
	if h.retired || h.loss.Err() != nil {
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

// loseLocked ends the hold, once, and unlocks h.mu. It waits for nothing: a member is over and may not yet
// know more of its own loss.
func (h *Hold) loseLocked(detail string, cause error) error {
	err := &redlatch.LossError{Name: h.call.Name, Reason: redlatch.ReasonMembers, Detail: detail, At: time.Now(),
		Cause: cause}
	if !h.loss.Begin(err, errors.Is(cause, errs.Lost)) {
		defer h.mu.Unlock()
		return h.loss.Err()
	}
	members := h.members
	if h.timer != nil {
		h.timer.Stop()
	}
	if !h.given {
		h.timer = time.AfterFunc(Grace, h.giveBackRest)
	}
	h.mu.Unlock()
	h.Ending().End(err)
	h.free()
	return h.loss.Tell(h.about(), func(err *redlatch.LossError) *redlatch.LossError { return explained(err, members) })
}

// about is what a log line says of the hold.
func (h *Hold) about() life.Of {
	return life.Of{Thing: "lock", Kind: h.call.Kind, Logger: h.call.Set.Logger, Holds: []*life.Hold{&h.Hold}}
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

// Explain adds to the loss of h what was found out about it, and waits for that.
func (h *Hold) Explain(err error) error { return h.loss.Explain(err) }

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
