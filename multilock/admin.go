package multilock

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
)

// The questions to a multi-lock are questions to its members, which are asked one after another, or by
// Inspect all at the same time: the answers are not of one moment. A member that cannot be asked, because it
// is a program's own Locker without that method, makes the answer an ErrInvalid.

// query has do called with each member as a Q, a locker that has the method which is asked for.
func query[Q any](l *Lock, method string, do func(member Q) error) error {
	l.made()
	for _, m := range l.members {
		q, ok := m.(Q)
		if !ok {
			return cannot(m, method)
		}
		if err := do(q); err != nil {
			return fmt.Errorf("redlatch: multi-lock %q: %w", errs.Short(l.name), errs.Part(err, ""))
		}
	}
	return nil
}

func cannot(m redlatch.Locker, method string) error {
	return errs.Wrong("the member %q of the multi-lock is a %T, which has no method %s; give it one, as rlock.Lock has it",
		m.Name(), m, method)
}

// IsLocked reports whether any of the members is held, so that this lock may have to be waited for.
func (l *Lock) IsLocked(ctx context.Context) (locked bool, err error) {
	err = query(l, "IsLocked", func(m interface {
		IsLocked(ctx context.Context) (bool, error)
	}) error {
		held, err := m.IsLocked(ctx)
		locked = locked || held
		return err
	})
	return locked && err == nil, err
}

// HoldCount returns how many times the hold that ctx carries has taken all members: the smallest of their
// counts. It is 0 when ctx carries none, or one that has not all of them.
func (l *Lock) HoldCount(ctx context.Context) (int64, error) {
	least := int64(math.MaxInt64)
	err := query(l, "HoldCount", func(m interface {
		HoldCount(ctx context.Context) (int64, error)
	}) error {
		count, err := m.HoldCount(ctx)
		least = min(least, count)
		return err
	})
	if err != nil {
		return 0, err
	}
	return least, nil
}

// RemainingTTL returns how long it takes until all members are free if they are not renewed: the longest of
// their times. It is 0 when all are free, and negative when a member has no TTL.
func (l *Lock) RemainingTTL(ctx context.Context) (longest time.Duration, err error) {
	err = query(l, "RemainingTTL", func(m interface {
		RemainingTTL(ctx context.Context) (time.Duration, error)
	}) error {
		ttl, err := m.RemainingTTL(ctx)
		longest = longer(longest, ttl)
		return err
	})
	if err != nil {
		return 0, err
	}
	return longest, nil
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
	type forcer interface {
		ForceUnlock(ctx context.Context) (bool, error)
	}
	if err := query(l, "ForceUnlock", func(forcer) error { return nil }); err != nil {
		return false, err
	}
	var failures []error
	_ = query(l, "ForceUnlock", func(m forcer) error {
		held, err := m.ForceUnlock(ctx)
		freed = freed || held
		failures = append(failures, err)
		return nil
	})
	if err := errs.Join(failures...); err != nil {
		return freed, fmt.Errorf("redlatch: multi-lock %q: %w", errs.Short(l.name), errs.Part(err, ""))
	}
	return freed, nil
}
