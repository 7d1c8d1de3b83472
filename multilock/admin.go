package multilock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
)

// The questions to a multi-lock are questions to its members, which are asked one after another, or by
// Inspect all at the same time: the answers are not of one moment. A member that cannot be asked, because it
// is a program's own Locker without that method, makes the answer an ErrInvalid.

// What members are asked by.
type (
	asLocked interface {
		IsLocked(ctx context.Context) (bool, error)
	}
	asCounted interface {
		HoldCount(ctx context.Context) (int64, error)
	}
	asTimed interface {
		RemainingTTL(ctx context.Context) (time.Duration, error)
	}
	asForced interface {
		ForceUnlock(ctx context.Context) (bool, error)
	}
)

// query has do ask each member as a Q, a locker that has the method which is asked for. It stops at the first
// that fails.
func query[Q, R any](ctx context.Context, l *Lock, method string,
	do func(member Q, ctx context.Context) (R, error)) (all []R, err error) {
	l.made()
	for _, m := range l.members {
		q, ok := m.(Q)
		if !ok {
			return nil, cannot(m, method)
		}
		one, err := do(q, ctx)
		if err != nil {
			return nil, l.failed(err)
		}
		all = append(all, one)
	}
	return all, nil
}

// failed is the error of members with the name of the lock.
func (l *Lock) failed(err error) error {
	return fmt.Errorf("redlatch: multi-lock %q: %w", errs.Short(l.of.Name), errs.Part(err, ""))
}

func cannot(m redlatch.Locker, method string) error {
	return errs.Wrong("the member %q of the multi-lock is a %T, which has no method %s; give it one, as rlock.Lock has it",
		m.Name(), m, method)
}

// IsLocked reports whether any of the members is held, so that this lock may have to be waited for.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) {
	all, err := query(ctx, l, "IsLocked", asLocked.IsLocked)
	return slices.Contains(all, true), err
}

// HoldCount returns how many times the hold that ctx carries has taken all members: the smallest of their
// counts. It is 0 when ctx carries none, or one that has not all of them.
func (l *Lock) HoldCount(ctx context.Context) (int64, error) {
	all, err := query(ctx, l, "HoldCount", asCounted.HoldCount)
	if err != nil {
		return 0, err
	}
	return slices.Min(all), nil
}

// RemainingTTL returns how long it takes until all members are free if they are not renewed: the longest of
// their times. It is 0 when all are free, and negative when a member has no TTL.
func (l *Lock) RemainingTTL(ctx context.Context) (longest time.Duration, err error) {
	all, err := query(ctx, l, "RemainingTTL", asTimed.RemainingTTL)
	for _, ttl := range all {
		longest = longer(longest, ttl)
	}
	return longest, err
}

// longer of two times of which a negative one has no end.
func longer(a, b time.Duration) time.Duration {
	if a < 0 || b < 0 {
		return min(a, b)
	}
	return max(a, b)
}

// ForceUnlock frees all members, also those that are held for another purpose than this multi-lock, and
// reports whether any was held. It goes on when one fails; the error has all failures. Before it frees any,
// it makes sure that all members have the method. Holders learn of it within a third of the watchdog timeout
// plus a second.
func (l *Lock) ForceUnlock(ctx context.Context) (freed bool, err error) {
	all, err := query(ctx, l, "ForceUnlock", func(m asForced, _ context.Context) (asForced, error) { return m, nil })
	if err != nil {
		return false, err
	}
	var failures []error
	for _, m := range all {
		held, err := m.ForceUnlock(ctx)
		freed = freed || held
		failures = append(failures, err)
	}
	if err := errs.Join(failures...); err != nil {
		return freed, l.failed(err)
	}
	return freed, nil
}
