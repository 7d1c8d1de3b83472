// Package redlatch is a suite of distributed synchronizers on Redis and Valkey: locks, semaphores and latches
// that processes on different machines share by name. They speak the wire protocol of Redisson, so Java
// processes can take part in the same locks.
//
// Each primitive is a package of its own:
//
//   - rlock: a reentrant lock, and the same lock without reentrancy
//   - fairlock: the same, in the order of arrival across all processes
//   - rwlock: many readers or one writer
//   - spinlock: a lock whose waiters poll
//   - fencedlock: a lock with a token that only grows, and a guard that refuses stale ones
//   - multilock: several locks as one
//   - redlock: a lock on a majority of independent servers
//   - semaphore: a counter of permits
//   - permitsemaphore: permits with ids and leases, which come back when their process dies
//   - countdownlatch: a gate that opens when a count reaches zero
//
// This package holds what they share: the [Hold] that a lock hands out, the [Locker] that every lock is, the
// options and the errors. Package redlatchtest makes holds for programs whose tests have a Locker of their
// own. Package fleet shows who holds what across all processes.
//
//	lock := rlock.New(rdb, "orders:42") // no I/O, nothing to close
//	err := lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx) // ctx ends the moment the lock may be lost
//	})
//
// # What a lock promises
//
// Redis decides who holds a lock; a process only decides when to stop believing that it does. A lock taken
// without a lease is kept by a watchdog for as long as its Hold lives. The context made by [Hold.Context]
// ends, with a cause that matches [ErrLost], before the lease can run out at the server, so work that heeds
// its context has stopped when the next holder starts. This rests on one Redis primary that keeps its data.
// If the key of a lock is deleted, or the primary fails before it has replicated the write, that is noticed
// at the next renewal, at the latest a third of the watchdog timeout plus a second later. No lock on Redis
// closes that gap; a fencing token that the protected store checks does.
//
// # Who holds
//
// Go has no thread ids. The Hold is the holder: goroutines that share a lock value exclude each other, and
// code that is given a Hold's context takes the same lock again without waiting. [Detach] returns a context
// with which it does not.
//
// Nothing runs while nothing is held or waited for: there is no goroutine to stop and nothing to close. The
// primitives of one client share what they need, and that is gone a few seconds after their last use.
//
// # What fails, and how
//
// New panics if the client is nil or cannot carry locks. A bad name, option or argument is [ErrInvalid] from
// the calls. A method that asks Redis and gets no answer returns an error that matches [ErrUnavailable], or
// that of its context if this has ended before. So false from IsLocked, or 0 from a method that counts, is an
// answer only if the error is nil. Where a change may have been made all the same, the error matches
// [ErrUncertain].
//
// The New functions make the primitives, and these make the holds and permits. A zero value of any of them
// panics when it is used. Do not copy a Hold or a Permit: a copy does not keep it, so it counts as dropped
// while the copy is in use. go vet finds copies of these, and of the primitives.
package redlatch

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Client is what the primitives need of a Redis client. *redis.Client (also one made for Sentinel) and
// *redis.ClusterClient satisfy it, and so does a wrapper that passes these calls on; a wrapper of a cluster
// client that hides its type is told of by [Configure] with [WithCluster]. A *redis.Ring is refused: it moves
// keys to another server when a node fails, and a lock that moves has two holders. One inside a wrapper is
// found where the wrapper embeds it, or an interface that has it; one that a wrapper keeps in a field with a
// name is not found, and must not be used.
//
// The client's options are not changed, and its defaults are good enough. Closing the client remains the
// program's task, after the last release: what is held when it is closed stays taken until its lease is over.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	SSubscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// A Locker is what can be locked: any lock of this module, one side of a read-write lock, or what a program's
// test puts in its place. It has these three methods and will have no others, so a type of a program stays a
// Locker. A program that calls more of what a lock can do writes down an interface of its own.
type Locker interface {
	// Name returns the name that the lock was made with.
	Name() string

	// Lock waits until the lock is held, ctx ends, or the time of WithWait is over. ctx governs the wait and
	// nothing else: the Hold outlives it. An ended wait matches the error of ctx, and ErrNotAcquired or
	// ErrUnavailable if the last answer was a refusal or the last attempt failed.
	Lock(ctx context.Context, opts ...Option) (*Hold, error)

	// TryLock asks once. When another holder has the lock, or another call of this process waits for it, the
	// error matches ErrNotAcquired.
	TryLock(ctx context.Context, opts ...Option) (*Hold, error)
}
