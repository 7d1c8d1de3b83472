package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
)

// A step is what is done to some members together. It answers what went wrong with each of them.
type step struct {
	members []Member
	do      func() (failures []error)
}

// run answers with the names of the members.
func (s step) run() []error {
	failures := s.do()
	for i, err := range failures {
		if err != nil {
			failures[i] = fmt.Errorf("%v: %w", s.members[i], err)
		}
	}
	return failures
}

// each takes all steps at the same time and returns nil when enough members have succeeded, without waiting for the others,
// else what went wrong. It raises what a step has panicked with, when the others are no longer waited for. The panic of a step
// that is not waited for goes to log.
func each(log *slog.Logger, steps []step, enough int) (failures []error) {
	if len(steps) == 1 {
		if failures = steps[0].run(); slices.ContainsFunc(failures, func(err error) bool { return err != nil }) {
			return failures
		}
		return nil
	}
	type result struct {
		failures []error
		raised   *raise.Panic
	}
	results, over := make(chan result), make(chan struct{})
	defer close(over)
	for _, s := range steps {
		var r result
		raise.Go(func() { r.failures = s.run() }, func(raised *raise.Panic) {
			if raised != nil {
				r = result{[]error{raised}, raised}
			}
			select {
			case results <- r:
			case <-over:
				raised.Log(log)
			}
		})
	}
	var raised *raise.Panic
	for range steps {
		r := <-results
		for _, err := range r.failures {
			if err == nil {
				enough--
			} else {
				failures = append(failures, err)
			}
		}
		if enough <= 0 {
			failures = nil
			break
		}
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

// singly are steps of one member each.
func singly(members []Member, do func(Member) error) (steps []step) {
	for i, m := range members {
		steps = append(steps, step{members[i : i+1], func() []error { return []error{do(m)} }})
	}
	return steps
}

// unlock gives all members back, those of one server with one command. It returns nil when enough have succeeded, else what
// went wrong.
func unlock(ctx context.Context, log *slog.Logger, members []Member, enough int) []error {
	var together [][]Member
	for _, m := range members {
		i := slices.IndexFunc(together, func(some []Member) bool { return baselock.Joins(some[0].Hold, m.Hold) })
		if i < 0 {
			together = append(together, nil)
			i = len(together) - 1
		}
		together[i] = append(together[i], m)
	}
	var steps []step
	for _, some := range together {
		var all func(context.Context) []error
		if len(some) > 1 {
			all = baselock.UnlockAll(Holds(some))
		}
		if all != nil {
			steps = append(steps, step{some, func() []error { return all(ctx) }})
		} else {
			steps = append(steps, singly(some, func(m Member) error { return m.Unlock(ctx) })...)
		}
	}
	return each(log, steps, enough)
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
		_ = unlock(ctx, log, members, len(members))
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
	return errors.Join(extend(ctx, log, members, len(members), lease)...)
}

func extend(ctx context.Context, log *slog.Logger, members []Member, enough int, lease time.Duration) []error {
	return each(log, singly(members, func(m Member) error { return m.Extend(ctx, lease) }), enough)
}
