package redlatchtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Locker is a lock in memory, for the unit tests of code that takes a [redlatch.Locker]. It is reentrant by the
// context of a hold, as an rlock is, issues tokens, as a fencedlock does, and serves its waiters in the order of their arrival.
// It has no server, no goroutine and nothing to close, and works in a bubble of testing/synctest as it is. Its methods may be
// called from any goroutine.
//
// It takes the options WithLease, WithMaxHold, WithWait, WithAtLeast and WithObserver, and ignores those that are about Redis.
// A hold without a lease lasts until it is unlocked, and a hold with one to the very end of it: there is no clock of a server
// from which to keep a distance.
type Locker struct {
	*memory
	defaults *settings.Settings
}

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

var _ redlatch.Locker = (*Locker)(nil)

// A waiter is a Lock that waits.
type waiter struct {
	make func() *fake // with the mutex locked
	got  chan *fake   // of one
}

// A fault is a Fail in force.
type fault struct {
	err    error
	unfree int // releases that wait for its end
}

// NewLocker makes a lock that is free. opts are the defaults of its calls.
func NewLocker(name string, opts ...redlatch.Option) *Locker {
	return &Locker{&memory{name: name}, rootapi.For(opts)}
}

// Busy has another process hold the lock, until free is called: Lock waits, and TryLock fails with ErrNotAcquired. A hold of
// the test that is in force stays, and the other process comes after it.
func (l *Locker) Busy() (free func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keepLocked()
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

// Fail has the server be out of reach until restore is called: Lock, TryLock, Unlock and Extend fail at once with an error that
// matches err and ErrUnavailable. Calls that wait already go on waiting, and holds last. A hold whose Unlock has failed gives
// the lock back at restore.
func (l *Locker) Fail(err error) (restore func()) {
	f := &fault{err: fmt.Errorf("%w: %w", redlatch.ErrUnavailable, err)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, f)
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.faults = slices.DeleteFunc(l.faults, func(other *fault) bool { return other == f })
		l.kept -= f.unfree
		l.serveLocked()
	})
}

func (l *memory) faultLocked() *fault {
	if len(l.faults) == 0 {
		return nil
	}
	return l.faults[0]
}

// Lose has the holds in force be lost: their contexts end with a *redlatch.LossError that has the cause, which may be nil, and
// Unlock returns the same error. The lock is free then.
func (l *Locker) Lose(cause error) {
	l.mu.Lock()
	lost := slices.Clone(l.holds)
	l.mu.Unlock()
	for _, f := range lost {
		f.lose("the test has it lost", cause)
	}
}

// Name returns the name that the lock was made with.
func (l *Locker) Name() string { return l.name }

// Lock waits until the lock is held; see [redlatch.Locker].
func (l *Locker) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return l.acquire(ctx, false, opts)
}

// TryLock asks once; see [redlatch.Locker].
func (l *Locker) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return l.acquire(ctx, true, opts)
}

const taken = settings.Lease | settings.MaxHold | settings.AtLeast | settings.WatchdogTimeout | settings.Replicas | settings.LocalHandOff

func (l *Locker) acquire(ctx context.Context, try bool, opts []redlatch.Option) (*redlatch.Hold, error) {
	set := rootapi.Apply(l.defaults.ForCall(), opts)
	options := taken
	if !try {
		options |= settings.Wait
	}
	if err := errors.Join(l.defaults.Check("a lock", taken|settings.Wait), set.Check("a lock", options)); err != nil {
		return nil, err
	}
	if l.name == "" {
		return nil, fmt.Errorf("%w: the name of a lock is empty", redlatch.ErrInvalid)
	}
	if f := set.FirstLease(); set.AtLeast > f && (set.Lease > 0 || set.MaxHold > 0) {
		return nil, fmt.Errorf("%w: WithAtLeast(%v) is longer than the lease of %v", redlatch.ErrInvalid, set.AtLeast, f)
	}
	call := observe.Begin(ctx, &set, "lock", l.name, 0)
	defer call.Left()
	if call != nil {
		ctx = call.Context
	}
	ctx, cancel := set.Waiting(ctx, try)
	defer cancel()
	f, err := l.wait(ctx, &set, try || set.Once)
	if err != nil {
		err = set.Refused(err, try)
		call.Refused(err)
		return nil, err
	}
	if call != nil {
		call.Acquired(settings.Event{Owner: f.terms.Owner, Token: f.terms.Token, Reentry: f.reentry, Path: settings.Fresh})
		f.told.Store(call.Hold())
	}
	f.start()
	return rootapi.Hold[*redlatch.Hold](f), nil
}

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
		return nil, fmt.Errorf("%w: lock %q is taken", redlatch.ErrNotAcquired, l.name)
	}
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
		return nil, fmt.Errorf("%w: lock %q is taken: %w", redlatch.ErrNotAcquired, l.name, ended(ctx))
	}
}

// ended is the error of a context that is over, and its cause.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
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

// serveLocked gives the lock to the next waiter, if it is free.
func (l *memory) serveLocked() {
	if len(l.holds) == 0 && l.kept == 0 && len(l.waiters) > 0 {
		next := l.waiters[0]
		l.waiters = l.waiters[1:]
		next.got <- next.make()
	}
}
