// Package spinlock is a reentrant mutual exclusion lock whose waiters poll instead of listening, compatible
// with Redisson's spin lock.
//
//	lock := spinlock.New(rdb, "orders:42")
//	err := lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx) // ctx ends the moment the lock may be lost
//	})
//
//	          taken by another holder
//	asking ──────────────────────────► sleeping (1 ms, 2 ms, … 128 ms, with jitter)
//	  │  ▲                               │   │
//	  │  └──────────── slept ────────────┘   └── ctx ends ──► not acquired
//	  ▼
//	 held ── last Unlock ──► free
//	  │
//	  └── not renewed, deleted, force-unlocked ──► lost
//
// It is the lock of package rlock without messages: it never subscribes and never publishes, so it needs no
// connection for wake-ups and no permission on channels. The price is more commands and longer waits. Each
// process that waits asks Redis about eight to sixteen times a second once its sleeps have grown, and may
// notice up to 128 ms late that the lock is free. Choose it for locks that are held for a few milliseconds,
// and for servers or proxies on which pub/sub does not work; choose rlock everywhere else.
//
// Waiters of one process are served in their order of arrival, and only the first of them polls. They hand
// the lock on among themselves without a command for a few milliseconds at most; then the process leaves it
// free for 4 ms. Between processes nothing is promised. [WithBackOff] sets the sleeps; redlatch.WithPoll has
// no effect here.
//
// Holding works as with any lock: a hold without a lease is renewed by the watchdog, and its context ends
// with ErrLost before the lease can run out at the server. A poll that cannot reach the server is repeated
// for the time set by WithOutage; then the server's error is returned.
//
// A spin lock and a plain lock of the same name exclude each other, but the release of a spin lock does not
// wake those who wait for the plain one: they notice when they next ask. Use only one kind of lock for a
// name.
package spinlock

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

// New makes a spin lock. It does no I/O. It panics if the client is nil or of a kind that cannot carry locks;
// a bad name or option is reported by the calls. Options: WithBackOff, WithLease, WithMaxHold, WithAtLeast,
// WithWait, WithWatchdogTimeout, WithReplicas, WithoutLocalHandOff, and those that every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{base: baselock.New(client, name, &spinning, opts)}
}

// made is the base of a lock that New has made.
func (l *Lock) made() *baselock.Base {
	return errs.Made(l.base, "spinlock.Lock is used without New; make it by spinlock.New")
}

// Name returns the name that the lock was made with.
func (l *Lock) Name() string { return l.made().Name }

// Lock polls until the lock is held, ctx ends, or the time of WithWait is over; the last two cut a sleep
// short. With a context that carries a live hold of this lock it re-enters. ctx governs the wait and nothing
// else. While the server fails it goes on for as long as [redlatch.WithOutage] says.
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
// Its holder learns of it within a third of the watchdog timeout plus a second; waiters find the lock free at
// their next poll.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return locking.ForceUnlock(ctx, l.made())
}

// Inspect returns who holds the lock, how many times, and how long it still lasts.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) {
	return locking.Inspect(ctx, l.made())
}
