// Package rlock is a reentrant mutual exclusion lock that processes share by name, compatible with Redisson's
// RLock.
//
//	lock := rlock.New(rdb, "orders:42")
//	hold, err := lock.Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return charge(hold.Context(ctx)) // ends the moment the lock may be lost
//
//	free ──Lock──► held ──last Unlock──► free
//	                │ ▲
//	 Lock with the  ▼ │  Unlock
//	 hold's context held again
//	                │
//	                └── not renewed, deleted, force-unlocked ──► lost
//
// The lock is a hash at the key of its name: its field is the holder, its value the number of holds. Unless
// the hold has a lease of its own, a watchdog renews it every third of the watchdog timeout. Waiters of one
// process are served in their order of arrival. They hand the lock on among themselves for a few milliseconds
// at most; then it goes to the process that has waited longest. That is not a guaranteed order: a call that
// comes when the lock is free gets it. If all messages are lost, waiters find a free lock at the latest one
// poll interval later. Package fairlock keeps an order between processes.
//
// [NewNonReentrant] makes the same lock without reentrancy: it shares keys with the reentrant one, and code
// that asks for a lock that its context already holds gets an error at once.
package rlock

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
)

// A Lock is a lock shared by every process that uses the same name on the same Redis. Goroutines that share a
// Lock exclude each other; only code that is given a Hold's context re-enters. It is safe for concurrent use,
// needs no closing, and costs nothing while it is not used.
type Lock struct {
	_ [0]sync.Mutex // so that go vet finds copies

	base *baselock.Base
}

var (
	_ redlatch.Locker    = (*Lock)(nil)
	_ redlatch.Inspector = (*Lock)(nil)
)

// New makes a reentrant lock. It does no I/O. It panics if the client is nil or of a kind that cannot carry
// locks; a bad name or option is reported by the calls. Options: WithLease, WithMaxHold, WithAtLeast,
// WithWait, WithWatchdogTimeout, WithReplicas, WithoutLocalHandOff, and those that every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{base: baselock.New(client, name, &reentrant, opts)}
}

// NewNonReentrant makes a lock that its own holder cannot take a second time: asked with a context that
// carries the hold, it fails at once with ErrNotReentrant.
func NewNonReentrant(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{base: baselock.New(client, name, &nonReentrant, opts)}
}

var (
	reentrant    = locking.HandingOver(locking.Plain())
	nonReentrant = locking.NonReentrant(reentrant)
)

// made is the base of a lock that New has made.
func (l *Lock) made() *baselock.Base {
	return errs.Made(l.base, "rlock.Lock is used without New; make it by rlock.New")
}

// Name returns the name that the lock was made with.
func (l *Lock) Name() string { return l.made().Name }

// Lock waits until the lock is held, ctx ends, or the time of WithWait is over. With a context that carries a
// live hold of this lock it re-enters. ctx governs the wait and nothing else. While the server fails it goes
// on for as long as [redlatch.WithOutage] says.
func (l *Lock) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.Lock(ctx, l.made(), opts)
}

// TryLock asks once. The error matches ErrNotAcquired when another holder has the lock, or when other
// calls of this process wait for it.
func (l *Lock) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.TryLock(ctx, l.made(), opts)
}

// Do takes the lock, runs fn with the hold's context and gives the lock back; see [redlatch.Do].
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error {
	return redlatch.Do(ctx, l, fn, opts...)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out while the
// lock is busy; see [redlatch.TryDo].
func (l *Lock) TryDo(ctx context.Context, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	return redlatch.TryDo(ctx, l, fn, opts...)
}

// IsLocked reports whether the lock is held, by this process or another.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) { return locking.IsLocked(ctx, l.made()) }

// HoldCount returns how many times the hold that ctx carries has taken the lock, 0 when ctx carries none.
func (l *Lock) HoldCount(ctx context.Context) (int64, error) { return locking.HoldCount(ctx, l.made()) }

// RemainingTTL returns how long the lock lasts if it is not renewed: 0 when it is free, negative when its key
// has no TTL, which can only have been caused from outside.
func (l *Lock) RemainingTTL(ctx context.Context) (time.Duration, error) {
	return locking.RemainingTTL(ctx, l.made())
}

// ForceUnlock takes the lock from its holder, in this process or another, and reports whether it was held.
// Its holder learns of it within a third of the watchdog timeout plus a second.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return locking.ForceUnlock(ctx, l.made())
}

// Inspect returns who holds the lock, how many times, and how long it still lasts.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) {
	return locking.Inspect(ctx, l.made())
}
