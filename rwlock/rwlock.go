// Package rwlock is a reentrant read-write lock that processes share by name: many readers or one writer,
// compatible with Redisson's RReadWriteLock.
//
//	lock := rwlock.New(rdb, "catalogue")
//	hold, err := lock.RLock(ctx) // or Lock, to write
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return render(hold.Context(ctx)) // ends the moment the lock may be lost
//
//	             RLock of others, or with a hold's context
//	                       ┌──────┐
//	        RLock          ▼      │        last reader's Unlock
//	free ───────────► held for reading ───────────────────────► free
//	  │                    ▲
//	  │ Lock               │ Unlock while the writer also reads: a downgrade
//	  ▼                    │
//	held for writing ──────┘
//	  │        ▲   RLock, Lock with the hold's context
//	  │        └── held again
//	  └── last Unlock ──► free
//
// The methods have the names of those of [sync.RWMutex]; [Lock.Reader] and [Lock.Writer] are the two sides as
// lockers.
//
//   - The hold is the holder. With the context of a read hold, RLock re-enters; with that of a write hold,
//     Lock re-enters and RLock reads beside the write. Each Hold is given back separately, in any order.
//   - A writer that reads and gives the write hold back first goes on reading: a downgrade. Readers that wait
//     come in.
//   - There is no upgrade. Lock with a context that carries a read hold, and no write hold, fails at once
//     with ErrUpgrade, because it would wait for itself. Without the hold's context it waits, as with sync.
//   - Waiters of one process are served in their order of arrival, readers and writers in one line: a reader
//     that comes while a writer waits stands behind it, and readers behind one another get in together. As
//     with sync, a program must not take a second read hold without the context of the first, because a
//     writer may be waiting in between.
//   - Processes are told in their order of arrival that the lock can be had, but a call that comes at that
//     moment may be faster. A waiter asks at least once per poll interval in any case. Readers that overlap
//     all the time can keep a writer out, unless it has [rwlock.WithWriterPreference].
//
// # Failure
//
// A hold that cannot be renewed, or is taken away, is lost as with every lock: its contexts end with ErrLost.
// The two sides of a writer that reads are renewed, and lost, separately; if the lock is deleted both end,
// within a third of the watchdog timeout plus a second. What was read beside a write that is lost is still
// protected as a read.
//
// Every reader has a lease of its own: it does not shorten that of others, nor do others lengthen it. A
// reader that dies keeps writers out until its own lease is over and no longer, even if other readers keep
// the lock alive. The next writer that asks, or the last reader that leaves, removes what is left of it;
// Inspect may name it until then. A reader of Redisson may be alive without a lease of its own, so one that
// died can keep writers out for 30 s more.
//
// A Java reader renews by setting the lock's TTL to Redisson's watchdog timeout, 30 s by default, even if
// another reader was promised more; up to Redisson 4.3.1 it also does so to what this package's readers were
// promised. A reader of this package corrects that every third of [redlatch.WithWatchdogTimeout], and one
// with a fixed lease also every third of that lease, but not more often than once per second. Where Java
// processes share the lock, keep that timeout no longer than theirs, or a reader can be lost after the last
// of them died, and learn of it only at its next check.
package rwlock

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/locking"
)

// A Lock is a read-write lock shared by every process that uses the same name on the same Redis. Goroutines
// that share a Lock are different holders; only code that is given a Hold's context is the same. It is safe
// for concurrent use, needs no closing, and costs nothing while it is not used.
//
// As a [redlatch.Locker] a Lock is its writing side. The methods of both sides are those of a [Side].
type Lock struct {
	reader, writer Side
}

// A Side is the reading or the writing side of a Lock.
type Side struct {
	_ [0]sync.Mutex // so that go vet finds copies

	base *baselock.Base
}

var (
	_, _ redlatch.Locker    = (*Lock)(nil), (*Side)(nil)
	_, _ redlatch.Inspector = (*Lock)(nil), (*Side)(nil)
)

// New makes a read-write lock. It does no I/O. It panics if the client is nil or of a kind that cannot carry
// locks; a bad name or option is reported by the calls. Options, for both sides: WithLease, WithMaxHold,
// WithAtLeast, WithWait, WithWatchdogTimeout, WithReplicas, WithWriterPreference, WithoutLocalHandOff, and
// those that every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{
		reader: Side{base: baselock.New(client, name, &reading, opts)},
		writer: Side{base: baselock.New(client, name, &writing, opts)},
	}
}

// Name returns the name that the lock was made with.
func (l *Lock) Name() string { return l.writer.Name() }

// Reader returns the reading side.
func (l *Lock) Reader() *Side { return &l.reader }

// Writer returns the writing side.
func (l *Lock) Writer() *Side { return &l.writer }

// Lock waits until the lock is held for writing, ctx ends, or the time of WithWait is over. With a context
// that carries a live write hold of this lock it re-enters; with one that carries only a read hold it fails
// at once with ErrUpgrade. ctx governs the wait and nothing else. While the server fails it goes on for as
// long as [redlatch.WithOutage] says.
func (l *Lock) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.Lock(ctx, l.writer.made(), opts)
}

// TryLock asks once to write. The error matches ErrNotAcquired when another holder has the lock, or when
// other calls of this process wait for it, and ErrUpgrade when ctx carries only a read hold.
func (l *Lock) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.TryLock(ctx, l.writer.made(), opts)
}

// RLock waits until the lock is held for reading, ctx ends, or the time of WithWait is over. With a context
// that carries a live read hold of this lock it re-enters; with one that carries a write hold it reads beside
// the write. ctx governs the wait and nothing else. While the server fails it goes on for as long as
// [redlatch.WithOutage] says.
func (l *Lock) RLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.Lock(ctx, l.reader.made(), opts)
}

// TryRLock asks once to read. The error matches ErrNotAcquired when another holder writes, when other
// calls of this process wait for it, or when a writer with [rwlock.WithWriterPreference] does so anywhere.
func (l *Lock) TryRLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.TryLock(ctx, l.reader.made(), opts)
}

// Do takes the lock for writing, runs fn with the hold's context and gives the lock back; see [redlatch.Do].
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error {
	return redlatch.Do(ctx, &l.writer, fn, opts...)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out while the
// lock is busy; see [redlatch.TryDo].
func (l *Lock) TryDo(ctx context.Context, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	return redlatch.TryDo(ctx, &l.writer, fn, opts...)
}

// RDo takes the lock for reading, runs fn with the hold's context and gives the lock back; see [redlatch.Do].
func (l *Lock) RDo(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error {
	return redlatch.Do(ctx, &l.reader, fn, opts...)
}

// TryRDo is RDo that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out while
// the lock is busy; see [redlatch.TryDo].
func (l *Lock) TryRDo(ctx context.Context, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	return redlatch.TryDo(ctx, &l.reader, fn, opts...)
}

// IsLocked reports whether the lock is held for writing, by this process or another; ask [Lock.Reader] about
// readers.
func (l *Lock) IsLocked(ctx context.Context) (bool, error) { return l.writer.IsLocked(ctx) }

// HoldCount returns how many times the hold that ctx carries has taken the lock for writing, 0 when ctx
// carries none.
func (l *Lock) HoldCount(ctx context.Context) (int64, error) { return l.writer.HoldCount(ctx) }

// RemainingTTL returns how long the lock lasts if it is not renewed: 0 when it is not held for writing,
// negative when its key has no TTL, which can only have been caused from outside.
func (l *Lock) RemainingTTL(ctx context.Context) (time.Duration, error) {
	return l.writer.RemainingTTL(ctx)
}

// ForceUnlock frees the lock if it is held for writing, in this process or another, and reports whether it
// was; see [Side.ForceUnlock].
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) { return l.writer.ForceUnlock(ctx) }

// Inspect returns who holds the lock on which side, how many times, and how long it still lasts. A reader has
// a TTL of its own, the longest that was promised to it.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) { return l.writer.Inspect(ctx) }

// made is the base of a side of a lock that New has made.
func (s *Side) made() *baselock.Base {
	return errs.Made(s.base, "rwlock.Lock is used without New; make it by rwlock.New")
}

// Name returns the name of the lock.
func (s *Side) Name() string { return s.made().Name }

// Lock waits until this side is held: [Lock.RLock] or [Lock.Lock].
func (s *Side) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.Lock(ctx, s.made(), opts)
}

// TryLock asks once for this side: [Lock.TryRLock] or [Lock.TryLock].
func (s *Side) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	return locking.TryLock(ctx, s.made(), opts)
}

// Do takes this side, runs fn with the hold's context and gives it back; see [redlatch.Do].
func (s *Side) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error {
	return redlatch.Do(ctx, s, fn, opts...)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out while the
// lock is busy; see [redlatch.TryDo].
func (s *Side) TryDo(ctx context.Context, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	return redlatch.TryDo(ctx, s, fn, opts...)
}

// IsLocked reports whether this side is held, by this process or another. A writer that reads holds both; a
// dead reader holds none.
func (s *Side) IsLocked(ctx context.Context) (bool, error) { return locking.IsLocked(ctx, s.made()) }

// HoldCount returns how many times the hold that ctx carries has taken this side, 0 when ctx carries none.
func (s *Side) HoldCount(ctx context.Context) (int64, error) { return locking.HoldCount(ctx, s.made()) }

// RemainingTTL returns how long the lock lasts if it is not renewed: 0 when this side is free, negative when
// its key has no TTL, which can only have been caused from outside.
func (s *Side) RemainingTTL(ctx context.Context) (time.Duration, error) {
	return locking.RemainingTTL(ctx, s.made())
}

// ForceUnlock frees the lock if it is held on this side, in this process or another, and reports whether it
// was. A writer that also reads loses both sides; on the reading side ForceUnlock does nothing while the lock
// is held for writing. Holders learn of it within a third of the watchdog timeout plus a second.
func (s *Side) ForceUnlock(ctx context.Context) (bool, error) {
	return locking.ForceUnlock(ctx, s.made())
}

// Inspect returns who holds the lock, on both sides, how many times, and how long it still lasts.
func (s *Side) Inspect(ctx context.Context) (redlatch.Info, error) {
	return locking.Inspect(ctx, s.made())
}
