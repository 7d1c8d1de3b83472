package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// Lend returns ctx with the members' holds of all composites that it carries, for one acquisition by a composite: what
// the composites have in common re-enters. The context that a program gets never has them, so a hold of several locks
// does not pass for a hold of one. The holds that were lent are returned too.
func Lend(ctx context.Context) (context.Context, []*Hold) {
	var carried []*Hold
	for hold := range holds.Carried(ctx) {
		if h, ok := hold.(*Hold); ok && h.kept() {
			carried = append(carried, h)
		}
	}
	for _, h := range slices.Backward(carried) {
		ctx = h.lendMembers(ctx)
	}
	return ctx, carried
}

// LendOne returns ctx with a hold that the acquisition has got, and with the members of one that has members.
func LendOne(ctx context.Context, hold holds.Hold) context.Context {
	if h, ok := hold.(*Hold); ok {
		ctx = h.lendMembers(ctx)
	}
	return holds.Lend(ctx, hold)
}

func (h *Hold) lendMembers(ctx context.Context) context.Context {
	h.mu.Lock()
	members := slices.Clone(h.members)
	h.mu.Unlock()
	for _, m := range members {
		if m.Ending().Cause() == nil {
			ctx = LendOne(ctx, m.Hold)
		}
	}
	return ctx
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
