package redlatchtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/settings"
)

// A memory is the lock itself.
type memory struct {
	name string

	mu      sync.Mutex
	holds   []*fake // of the present holder
	kept    int     // why it is not free besides: Busy, a least time, a release that failed
	owners  int64
	tokens  int64
	waiters []*waiter
	faults  []*fault
}

// A waiter is a Lock that waits.
type waiter struct {
	make func() *fake // with the mutex locked
	got  chan *fake   // of one
}

// wait makes a hold as soon as the lock is free, or within one that ctx carries.
func (l *memory) wait(ctx context.Context, set *settings.Settings, try bool) (*fake, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	l.mu.Lock()
	inside := l.carriedLocked(ctx)
	switch fault := l.faultLocked(); {
	case fault != nil:
		l.mu.Unlock()
		return nil, fault.err
	case inside != nil:
		defer l.mu.Unlock()
		return l.makeLocked(set, inside.terms.Owner, true), nil
	case len(l.holds) == 0 && l.kept == 0 && len(l.waiters) == 0:
		defer l.mu.Unlock()
		return l.firstLocked(set), nil
	case try:
		l.mu.Unlock()
		return nil, l.taken()
	}
	began := time.Now()
	w := &waiter{make: func() *fake { return l.firstLocked(set) }, got: make(chan *fake, 1)}
	l.waiters = append(l.waiters, w)
	l.mu.Unlock()
	select {
	case f := <-w.got:
		return f, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.waiters = slices.DeleteFunc(l.waiters, func(other *waiter) bool { return other == w })
	l.mu.Unlock()
	select {
	case f := <-w.got: // at the last moment
		return f, nil
	default:
		err := l.taken()
		err.Cause, err.Waited = ended(ctx), time.Since(began)
		return nil, err
	}
}

// taken is the refusal of a try.
func (l *memory) taken() *redlatch.NotAcquiredError {
	return &redlatch.NotAcquiredError{Name: l.name, Kind: redlatch.KindLock, Detail: "is taken"}
}

// ended is the error of a context that is over, and its cause.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// errRecognized is the error of a call that takes nothing.
var errRecognized = errors.New("redlatchtest: the lock was only asked for its holds")

// recognizes tells whether inner is a hold of this lock that is in force.
func (l *memory) recognizes(inner any) bool {
	f, ok := inner.(*fake)
	l.mu.Lock()
	defer l.mu.Unlock()
	return ok && slices.Contains(l.holds, f)
}

// carriedLocked is the hold of this lock that ctx carries and that is in force.
func (l *memory) carriedLocked(ctx context.Context) *fake {
	for hold := range holds.Carried(ctx) {
		if f, ok := hold.(*fake); ok && slices.Contains(l.holds, f) {
			return f
		}
	}
	return nil
}

func (l *memory) firstLocked(set *settings.Settings) *fake {
	l.owners++
	return l.makeLocked(set, fmt.Sprintf("memory:%d", l.owners), false)
}

// keepLocked keeps the lock from being free until the function is called.
func (l *memory) keepLocked() func() {
	l.kept++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.kept--
		l.serveLocked()
	})
}

// serveLocked gives the lock to the next waiter, if it is free.
func (l *memory) serveLocked() {
	if len(l.holds) == 0 && l.kept == 0 && len(l.waiters) > 0 {
		next := l.waiters[0]
		l.waiters = l.waiters[1:]
		next.got <- next.make()
	}
}
