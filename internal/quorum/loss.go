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
	h.loseLocked(left, cause)
}

// loseLocked ends the hold, once, and unlocks h.mu. It waits for nothing: a member is over and may not yet
// know more of its own loss.
func (h *Hold) loseLocked(left int, cause error) error {
	err := &redlatch.LossError{Name: h.call.Name, Reason: redlatch.ReasonMembers, At: time.Now(), Cause: cause,
		Detail: fmt.Sprintf("%d of its members are left and it needs %d", left, h.call.Need)}
	if !h.loss.Begin(err, errors.Is(cause, errs.Lost)) {
		defer h.mu.Unlock()
		return h.loss.Err()
	}
	members := h.members
	if !h.given {
		h.grace = time.AfterFunc(Grace, h.giveBackRest)
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

// giveBackRest gives the members back, unless that is done, where no call waits for it.
func (h *Hold) giveBackRest() {
	h.mu.Lock()
	given, members := h.given, h.members
	h.given = true
	h.mu.Unlock()
	if !given {
		h.call.GiveBack(raise.Background(context.Background(), h.call.Log()), members)
	}
}
