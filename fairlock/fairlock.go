// Package fairlock is a reentrant mutual exclusion lock that is granted in the order in which it was asked
// for, across all processes, compatible with Redisson's RFairLock.
//
//	lock := fairlock.New(rdb, "orders:42")
//	hold, err := lock.Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return charge(hold.Context(ctx)) // ends the moment the lock may be lost
//
// A call that finds the lock taken joins the end of a queue in Redis:
//
//	asking ──free, none waits─────────────────────► held ──last Unlock──► released, the next is woken
//	  │                                              ▲ │
//	  └──taken──► queued ──next, and it is free──────┘ └──► lost
//	               │  ▲
//	               ▼  │ it lives after all
//	              removed, because its process gave no sign of life for its patience
//
// The order:
//
//   - It is that of arrival in Redis, across all processes, in Go and in Java. Calls of one process arrive in
//     the order in which they were made, within 2 ms; those that come together share a command.
//   - A waiter keeps its place for as long as it lives. Its process gives a sign of life for all its waiters
//     with one command per poll interval, or more often if their patience is short, and only the first of
//     them asks for the lock.
//   - A wait that ends without the lock leaves nothing behind, and if the lock is free, the next waiter is
//     woken.
//   - Only the server's clock is used.
//
// Failures: when a process dies, its waiters stay in the queue. Once the lock is free and one of them is
// next, the others wait until its process has given no sign of life for the patience ([WithPatience], 15 s by
// default); then all its entries are passed over. A process that was suspended for longer loses its places in
// the same way, and its waiters join the end of the queue again. When the holder dies the lock becomes free
// when its lease is over; there is no message then, so the next in the queue notices at the latest one poll
// interval later. A Java waiter gives no sign of life. If the lock is free and it is next, but it does not
// take the lock although it is told again, it is passed over after 6 s, or after 15 s while its connection
// stands, and joins the end of the queue when it asks again. Without a Go waiter in front of it, it keeps its
// place only for as long as Redisson lets it, about five and a half minutes.
//
// A release hands the lock to the next in the queue. Where the next are waiters of one process, one behind
// the other, they hand the lock on among them without a command, as those of an rlock do; so the fewer
// waiters of each process there are, the more often there is a message between two holders. Package rlock is
// faster where order does not matter.
package fairlock

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
)

// A Lock is a lock shared by every process that uses the same name on the same Redis, granted in the order of
// arrival. Goroutines that share a Lock exclude each other; only code that is given a Hold's context
// re-enters, and it does so whatever calls wait. It is safe for concurrent use, needs no closing, and costs
// nothing while it is not used.
//
// Use a name for one kind of lock only: a plain lock of the same name excludes this one, but does not wake
// its waiters.
type Lock struct {
	_ [0]sync.Mutex // so that go vet finds copies

	base *baselock.Base
}

var (
	_ redlatch.Locker    = (*Lock)(nil)
	_ redlatch.Inspector = (*Lock)(nil)
)

// New makes a fair lock. It does no I/O. It panics if the client is nil or of a kind that cannot carry locks;
// a bad name or option is reported by the calls. Options: WithPatience, WithLease, WithMaxHold, WithAtLeast,
// WithWait, WithWatchdogTimeout, WithReplicas, WithoutLocalHandOff, and those that every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{base: baselock.New(client, name, &reentrant, opts)}
}

// NewNonReentrant makes a fair lock that its own holder cannot take a second time: asked with a context that
// carries the hold, it fails at once with ErrNotReentrant. It shares the queue with the reentrant lock of the
// same name.
func NewNonReentrant(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{base: baselock.New(client, name, &nonReentrant, opts)}
}

// made is the base of a lock that New has made.
func (l *Lock) made() *baselock.Base {
	return errs.Made(l.base, "fairlock.Lock is used without New; make it by fairlock.New")
}

// Name returns the name that the lock was made with.
func (l *Lock) Name() string { return l.made().Name }

// Lock waits until the lock is held, ctx ends, or the time of WithWait is over. With a context that carries a
// live hold of this lock it re-enters. ctx governs the wait and nothing else. While the server fails it goes
// on for as long as [redlatch.WithOutage] says.
func (l *Lock) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.Lock(ctx, l.made(), opts)
}

// TryLock asks once and does not join the queue. The error matches ErrNotAcquired when another holder has
// the lock, or another call waits for it, in this process or another.
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

// ForceUnlock takes the lock from its holder, in this process or another, wakes the next waiter, and reports
// whether it was held. Its holder learns of it within a third of the watchdog timeout plus a second. The
// queue stays.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return locking.ForceUnlock(ctx, l.made())
}

// Inspect returns who holds the lock, how many times, how long it still lasts, and who waits for it, the next
// one first.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) {
	return locking.Inspect(ctx, l.made())
}
