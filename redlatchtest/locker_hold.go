package redlatchtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/settings"
)

// makeLocked makes a hold of the lock.
func (l *memory) makeLocked(set *settings.Settings, owner string, reentry bool) *fake {
	l.tokens++
	lease := set.Lease
	if set.MaxHold > 0 && (lease == 0 || set.MaxHold < lease) {
		lease = set.MaxHold
	}
	f := newFake(Terms{Name: l.name, Owner: owner, Token: l.tokens, Lease: lease})
	f.reentry = reentry
	began := time.Now()
	f.terms.Unlock = func(ctx context.Context) error { return l.released(ctx, f, began, set) }
	if set.MaxHold > 0 {
		f.limit = began.Add(set.MaxHold)
	}
	f.terms.Extend = func(context.Context, time.Duration) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if fault := l.faultLocked(); fault != nil {
			return fault.err
		}
		return nil
	}
	f.onEnd = func(why error, left time.Duration) {
		l.ended(f, left)
		if !errors.Is(why, redlatch.ErrLost) {
			why = nil
		}
		f.told.Load().End(context.Background(), redlatch.EventLeft, began, why)
	}
	l.holds = append(l.holds, f)
	return f
}

// released ends a hold that was unlocked. The last one frees the lock, at once or as soon as it may.
func (l *memory) released(ctx context.Context, f *fake, began time.Time, set *settings.Settings) error {
	l.mu.Lock()
	var err error
	if fault := l.faultLocked(); fault != nil {
		err = fault.err
		fault.unfree++
		l.kept++
	}
	l.mu.Unlock()
	l.ended(f, time.Until(began.Add(set.AtLeast)))
	f.told.Load().End(ctx, redlatch.EventReleased, began, err)
	return err
}

// ended takes a hold off the lock, which stays taken for some time besides.
func (l *memory) ended(f *fake, left time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds = slices.DeleteFunc(l.holds, func(other *fake) bool { return other == f })
	if left > 0 {
		time.AfterFunc(left, l.keepLocked())
	}
	l.serveLocked()
}
