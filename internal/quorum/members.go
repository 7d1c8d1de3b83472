package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
)

// each does something to all members at the same time and returns nil when enough have succeeded, without waiting for
// the others, else what went wrong.
func each(members []Member, enough int, do func(Member) error) (failures []error) {
	results := make(chan error, len(members)) // room for those who are not waited for
	for _, m := range members {
		go func() {
			err := do(m)
			if err != nil {
				err = fmt.Errorf("%s: %w", m.Name, err)
			}
			results <- err
		}()
	}
	for range members {
		err := <-results
		if err != nil {
			failures = append(failures, err)
		} else if enough--; enough == 0 {
			return nil
		}
	}
	return failures
}

// GiveBack gives back what an acquisition that failed has got, and does not wait for long when ctx has ended: what is
// not confirmed by then goes on in the background.
func GiveBack(ctx context.Context, members []Member) {
	if len(members) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		// What a failure leaves is repeated by the member itself until its lease is over, and told to its observer.
		_ = each(members, len(members), func(m Member) error { return m.Unlock(ctx) })
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(leaveWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// leaveWithin is how long a call whose context has ended stays to see its members given back.
const leaveWithin = 10 * time.Millisecond

// Carried are the composites in force that ctx carries, the innermost first.
func Carried(ctx context.Context) (carried []*Hold) {
	for hold := range holds.Carried(ctx) {
		if h, ok := hold.(*Hold); ok && h.kept() {
			carried = append(carried, h)
		}
	}
	return carried
}

// Members are the holds that h stands on and that are in force. When h is over there are none: a hold that is being given
// back opens nothing any more.
func (h *Hold) Members() (members []holds.Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.retired || h.lost != nil {
		return nil
	}
	for _, m := range h.members {
		if m.Ending().Cause() == nil {
			members = append(members, m.Hold)
		}
	}
	return members
}

// Lost is why one of these holds was lost, nil when none was. An acquisition in their name that finds it out fails, as
// the re-entry of a single lock does.
func Lost(carried []*Hold) error {
	for _, h := range carried {
		if cause := h.ending.Cause(); errors.Is(cause, errs.Lost) {
			return cause
		}
	}
	return nil
}

// Extend lengthens the lease of all members.
func Extend(ctx context.Context, members []Member, lease time.Duration) error {
	return errors.Join(each(members, len(members), func(m Member) error { return m.Extend(ctx, lease) })...)
}
