package redlatchtest

import (
	"context"
	"errors"
	"fmt"

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
// It takes the options WithLease, WithMaxHold, WithWait, WithAtLeast, WithSlowWait, WithLongHold, WithLogger and WithObserver, and
// ignores those that are about Redis. A hold without a lease lasts until it is unlocked, and a hold with one to the very end of it:
// there is no clock of a server from which to keep a distance.
type Locker struct {
	*memory
	defaults *settings.Settings
}

var _ redlatch.Locker = (*Locker)(nil)

// NewLocker makes a lock that is free. opts are the defaults of its calls.
func NewLocker(name string, opts ...redlatch.Option) *Locker {
	return &Locker{&memory{name: name}, rootapi.For(opts)}
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

const taken = settings.Lease | settings.MaxHold | settings.AtLeast | settings.WatchdogTimeout | settings.Replicas | settings.LocalHandOff |
	settings.LongHold

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
	if set.Recognize != nil {
		set.Recognize(l.recognizes)
		return nil, errRecognized
	}
	call := observe.Begin(ctx, &set, (*subject)(l.memory), "lock", l.name, 0)
	defer call.Left()
	if call != nil {
		ctx = call.Context
	}
	ctx, cancel := set.Waiting(ctx, try)
	defer cancel()
	f, err := l.wait(ctx, &set, try || set.Once)
	if err != nil {
		call.Refused(err)
		return nil, err
	}
	if call != nil {
		call.Acquired(redlatch.Event{Owner: f.terms.Owner, Token: f.terms.Token, Reentry: f.reentry,
			Path: redlatch.PathFresh})
		f.told.Store(call.Hold())
	}
	f.start()
	return rootapi.Hold[*redlatch.Hold](f, holds.Here()), nil
}
