package quorum

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
)

// Unlock gives all members back at the same time. It returns when as many have confirmed it as would let the
// next holder in: for a multi-lock all, for a redlock a majority, so that a server that is hung does not hold
// it up.
func (h *Hold) Unlock(ctx context.Context) error {
	h.mu.Lock()
	if h.retired {
		h.mu.Unlock()
		return fmt.Errorf("%w: %s %q was unlocked before by this hold", errs.Released, h.call.Kind.Noun(),
			errs.Short(h.call.Name))
	}
	lost := h.loss.Err()
	given, _ := h.retireLocked()
	h.mu.Unlock()
	h.Ending().End(errs.Released)

	var err error
	if !given {
		err = h.giveBackOrOn(ctx, lost != nil)
	}
	if lost != nil && (err != nil || given || h.expired) {
		// Else every member is found to be held: the limit of a re-entry has ended this hold, and no lock was
		// lost.
		err = lost
	}
	err = h.loss.Explain(err)
	h.Finish(ctx, redlatch.EventReleased, err)
	return err
}

// giveBackOrOn gives the members to the next waiter of this process, or back.
func (h *Hold) giveBackOrOn(ctx context.Context, lost bool) error {
	rest, waited := h, false
	if !lost && h.streak != nil {
		next := h.call.registry().Release(h.call.Line, h)
		switch next.Step {
		case cohort.Given:
			return nil
		case cohort.Unfit:
			next.Claim.End()
		case cohort.Due:
			next.Giver.(*Hold).yield(next)
		}
		rest, waited = next.Giver.(*Hold), next.Cohort != nil
	}
	defer rest.free()
	return rest.giveBack(ctx, waited)
}

// giveBack gives the members back. waited says that calls of this process wait for them.
func (h *Hold) giveBack(ctx context.Context, waited bool) error {
	h.mu.Lock()
	members := h.members
	h.mu.Unlock()
	if waited && h.call.Offers {
		baselock.Offer(members)
	}
	failures := unlock(ctx, h.log(), members, h.call.Need)
	if failures == nil {
		return nil
	}
	gone := 0
	for _, err := range failures {
		if errors.Is(err, errs.Lost) {
			gone++
		}
	}
	if left := len(members) - gone; left < h.call.Need {
		h.mu.Lock()
		return h.loseLocked(h.shortage(left), errs.Part(errs.Join(failures...), ""))
	}
	return fmt.Errorf("redlatch: %s %q: %w", h.call.Kind.Noun(), errs.Short(h.call.Name),
		errs.Part(errs.Join(failures...), ""))
}

// Leave leaves the members to their leases.
func (h *Hold) Leave() {
	h.mu.Lock()
	if h.retired {
		h.mu.Unlock()
		return
	}
	lost := h.loss.Err() != nil
	_, members := h.retireLocked()
	h.mu.Unlock()
	h.Ending().End(errs.Released)
	for _, m := range members {
		m.Leave()
	}
	h.free()
	if !lost {
		h.Finish(context.Background(), redlatch.EventLeft, nil)
	}
}

// Forgotten lets the members end with their leases.
func (h *Hold) Forgotten(there *holds.Place) {
	h.mu.Lock()
	if h.retired || h.loss.Err() != nil {
		h.mu.Unlock()
		return
	}
	_, members := h.retireLocked()
	h.mu.Unlock()
	h.EndForgotten(h.call.Name, "")
	for _, m := range members {
		m.Forgotten(there)
	}
	h.free()
	h.about().Forgotten("a hold of several locks was dropped without Unlock", there, h.call.Name, "")
}

// Decline gives back a hold that no call takes.
func (h *Hold) Decline() {
	h.mu.Lock()
	given, members := h.retireLocked()
	h.mu.Unlock()
	if !given {
		h.giveBackBehind(members)
	}
	h.free()
}

// retireLocked notes that the program is done with the hold. given says that the members are given back
// already, or on the way; else they are the caller's now.
func (h *Hold) retireLocked() (given bool, members []holds.Member) {
	given = h.given
	h.retired, h.given = true, true
	if h.timer != nil {
		h.timer.Stop()
	}
	return given, h.members
}
