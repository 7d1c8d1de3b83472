package quorum

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
)

// Unlock gives all members back at the same time. It returns when as many have confirmed it as would let the
// next holder in: for a multi-lock all, for a redlock a majority, so that a server that is hung does not hold
// it up.
func (h *Hold) Unlock(ctx context.Context) error {
	first, given, _ := h.retire(false)
	if !first {
		return fmt.Errorf("%w: %s was unlocked before by this hold", errs.Released, h.call.what())
	}
	lost := h.loss.Err()
	h.Ending().End(errs.Released)

	var err error
	if !given {
		err = h.giveBackOrOn(ctx, lost != nil)
	}
	if lost != nil && (err != nil || given) {
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
	members, _ := h.standsOn()
	if waited && h.call.Offers {
		composite.Offer(members)
	}
	failures := unlock(ctx, h.call.Log(), members, h.call.Need)
	if failures == nil {
		return nil
	}
	left, failed := len(members), errs.Part(errs.Join(failures...), "")
	for _, err := range failures {
		if errors.Is(err, errs.Lost) {
			left--
		}
	}
	if left < h.call.Need {
		h.mu.Lock()
		return h.loseLocked(left, failed)
	}
	return fmt.Errorf("redlatch: %s: %w", h.call.what(), failed)
}

// Leave leaves the members to their leases.
func (h *Hold) Leave() {
	first, _, members := h.retire(false)
	if !first {
		return
	}
	h.Ending().End(errs.Released)
	for _, m := range members {
		m.Leave()
	}
	h.free()
	if h.loss.Err() == nil {
		h.Finish(context.Background(), redlatch.EventLeft, nil)
	}
}

// Forgotten lets the members end with their leases.
func (h *Hold) Forgotten(there *holds.Place) {
	first, _, members := h.retire(true)
	if !first {
		return
	}
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
	h.retired = true
	h.mu.Unlock()
	h.giveBackRest()
	h.free()
}

// retire notes that the program is done with the hold, and tells whether it was not before. With inForce it
// does nothing to one that is lost. given says that the members are given back already, or on the way; else
// they are the caller's now.
func (h *Hold) retire(inForce bool) (first, given bool, members []holds.Member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.retired || inForce && h.loss.Err() != nil {
		return false, false, nil
	}
	given, h.retired, h.given = h.given, true, true
	if h.grace != nil {
		h.grace.Stop()
	}
	return true, given, h.members
}
