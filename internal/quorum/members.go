package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
)

// each does something to all members at the same time and returns nil when enough have succeeded, without waiting for
// the others, else what went wrong. It raises what a member has panicked with, when the others are no longer waited for.
// The panic of a member that is not waited for goes to log.
func each(log *slog.Logger, members []Member, enough int, do func(Member) error) (failures []error) {
	type result struct {
		err    error
		raised *raise.Panic
	}
	results, over := make(chan result), make(chan struct{})
	defer close(over)
	for _, m := range members {
		var r result
		raise.Go(func() {
			if err := do(m); err != nil {
				r.err = fmt.Errorf("%s: %w", m.Name, err)
			}
		}, func(raised *raise.Panic) {
			if r.raised = raised; raised != nil {
				r.err = raised
			}
			select {
			case results <- r:
			case <-over:
				raised.Log(log)
			}
		})
	}
	var raised *raise.Panic
	for range members {
		r := <-results
		if r.err == nil {
			if enough--; enough == 0 {
				failures = nil
				break
			}
			continue
		}
		failures = append(failures, r.err)
		if raised == nil {
			raised = r.raised
		} else {
			r.raised.Log(log)
		}
	}
	if raised != nil {
		panic(raised)
	}
	return failures
}

// GiveBack gives back what an acquisition that failed has got, and does not wait for long when ctx has ended: what is
// not confirmed by then goes on in the background.
func GiveBack(ctx context.Context, log *slog.Logger, members []Member) {
	if len(members) == 0 {
		return
	}
	done, over := make(chan *raise.Panic), make(chan struct{})
	defer close(over)
	raise.Go(func() {
		// What a failure leaves is repeated by the member itself until its lease is over, and told to its observer.
		_ = each(log, members, len(members), func(m Member) error { return m.Unlock(ctx) })
	}, func(raised *raise.Panic) {
		select {
		case done <- raised:
		case <-over:
			raised.Log(log)
		}
	})
	var raised *raise.Panic
	select {
	case raised = <-done:
	case <-ctx.Done():
		timer := time.NewTimer(leaveWithin)
		defer timer.Stop()
		select {
		case raised = <-done:
		case <-timer.C:
		}
	}
	raised.Raise(ctx)
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
func Extend(ctx context.Context, log *slog.Logger, members []Member, lease time.Duration) error {
	return errors.Join(each(log, members, len(members), func(m Member) error { return m.Extend(ctx, lease) })...)
}
