package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/composite"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
)

// each does something to all parts of the members at the same time. do answers what went wrong with each
// member of one part. each returns nil when enough members have succeeded, without waiting for the others,
// else what went wrong. It raises what do has panicked with, when the others are no longer waited for. The
// panic of one that is not waited for goes to log.
func each(log *slog.Logger, parts [][]holds.Member, enough int,
	do func(part []holds.Member) []error) (failures []error) {
	if len(parts) == 1 {
		if failures = named(parts[0], do(parts[0])); errors.Join(failures...) == nil {
			return nil
		}
		return failures
	}
	type result struct {
		failures []error
		raised   *raise.Panic
	}
	results, over := make(chan result), make(chan struct{})
	defer close(over)
	for _, part := range parts {
		var r result
		raise.Go(func() { r.failures = named(part, do(part)) }, func(raised *raise.Panic) {
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
	for range parts {
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

// named are the failures of members with their names.
func named(members []holds.Member, failures []error) []error {
	for i, err := range failures {
		if err != nil {
			failures[i] = fmt.Errorf("%v: %w", members[i], err)
		}
	}
	return failures
}

// unlock gives all members back, those of one server with one command. It returns nil when enough have
// succeeded, else what went wrong.
func unlock(ctx context.Context, log *slog.Logger, members []holds.Member, enough int) []error {
	return each(log, together(members), enough, func(part []holds.Member) []error { return unlockPart(ctx, log, part) })
}

// together are the members in parts, each of which one command can give back.
func together(members []holds.Member) (parts [][]holds.Member) {
	for rest := slices.Clone(members); len(rest) > 0; {
		n := 1
		for i := n; i < len(rest) && n < composite.MostTogether; i++ {
			if composite.Joins(rest[0].Hold, rest[i].Hold) {
				rest[n], rest[i] = rest[i], rest[n]
				n++
			}
		}
		parts, rest = append(parts, rest[:n]), rest[n:]
	}
	return parts
}

// unlockPart gives a part of the members back, and returns what went wrong with each.
func unlockPart(ctx context.Context, log *slog.Logger, part []holds.Member) (failures []error) {
	if len(part) > 1 {
		if failures = composite.UnlockAll(ctx, part); failures != nil {
			return failures
		}
	}
	failures = make([]error, len(part))
	if len(part) == 1 {
		failures[0] = part[0].Unlock(ctx)
		return failures
	}
	if raised := raise.All(len(part), func(i int) { failures[i] = part[i].Unlock(ctx) }, log); raised != nil {
		panic(raised)
	}
	return failures
}

// GiveBack gives back what an acquisition that failed has got, and does not wait for long when ctx has ended:
// what is not confirmed by then goes on in the background.
func (c *Call) GiveBack(ctx context.Context, members []holds.Member) {
	if len(members) == 0 {
		return
	}
	done, log := make(chan *raise.Panic, 1), c.Log()
	raise.Go(func() {
		// What a failure leaves is repeated by the member itself until its lease is over, and told to its
		// observer.
		_ = unlock(ctx, log, members, len(members))
	}, func(raised *raise.Panic) { done <- raised })
	select {
	case raised := <-done:
		raised.Raise(ctx)
		return
	case <-ctx.Done():
	}
	select {
	case raised := <-done:
		raised.Raise(ctx)
	case <-time.After(leaveWithin):
		go func() { (<-done).Log(log) }()
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

// Members are the holds that h stands on and that are in force. When h is over there are none: a hold that is
// being given back opens nothing any more.
func (h *Hold) Members() (members []holds.Hold) {
	all, kept := h.standsOn()
	if !kept {
		return nil
	}
	for _, m := range all {
		if m.Ending().Cause() == nil {
			members = append(members, m.Hold)
		}
	}
	return members
}

// Lost is why one of these holds was lost, nil when none was. An acquisition in their name that finds it out
// fails, as the re-entry of a single lock does.
func Lost(carried []*Hold) error {
	for _, h := range carried {
		if cause := h.Ending().Cause(); errors.Is(cause, errs.Lost) {
			return cause
		}
	}
	return nil
}

// Extend lengthens the lease of all members.
func (c *Call) Extend(ctx context.Context, members []holds.Member, lease time.Duration) error {
	if len(members) == 0 {
		return nil
	}
	return errs.Join(c.extend(ctx, members, len(members), lease)...)
}

func (c *Call) extend(ctx context.Context, members []holds.Member, enough int, lease time.Duration) []error {
	singly := slices.Collect(slices.Chunk(members, 1))
	return each(c.Log(), singly, enough, func(one []holds.Member) []error { return []error{one[0].Extend(ctx, lease)} })
}
