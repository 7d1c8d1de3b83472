// Package fencedlock is a reentrant mutual exclusion lock that hands out a token with every hold: a number
// that only grows, by which the protected store can refuse a holder that has lost the lock without knowing
// it. It is compatible with Redisson's fenced lock.
//
//	lock := fencedlock.New(rdb, "orders:42")
//	guard := fencedlock.NewGuard(rdb, "orders:42")
//	hold, err := lock.Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return guard.For(hold).Set(ctx, "{orders:42}:state", "paid") // refused once a newer holder has written
//
//	            Lock: token 7             Lock with the hold's
//	   free ─────────────────────► held ◄── context: token 8 ──┐
//	     ▲                          │ │                        │
//	     └────── last Unlock ───────┘ └────────────────────────┘
//	                                │
//	                                └── not renewed, deleted, force-unlocked ──► lost; its token is old
//	                                                                             when the next holder has 9
//
// No lock can stop a process that was suspended, or cut off, for longer than its lease and goes on writing
// when it comes back: it believes that it still holds the lock, and so does its successor. With tokens the
// store decides. It remembers the greatest token that it has seen and refuses writes with a smaller one. A
// [Guard] does that for data in the same Redis; another kind of store does it by comparing tokens in the
// statement that writes (see the OtherStore example).
//
// Every acquisition is issued a token greater than all before it, across all processes, including Java's; so
// is a re-entry, as in Redisson. Hold.Token returns the newest token of its holder, for outer and inner holds
// alike, so a holder does not become stale by its own re-entry. A lost reply costs no token and changes none.
//
// While no call waits for the lock, its holders have the tokens 1, 2, 3 and so on. When goroutines of one
// process wait, they hand the lock on without asking Redis. For this the process is issued a block of tokens
// in advance, 4096 at most. A token of the block that no holder got before the hand-offs end is never used,
// so the tokens of later holders have gaps.
//
// [Lock.LastToken], and getToken of Java, return the token issued last, which may be the last of such a
// block. The present holder may have a smaller one. So do not show LastToken to a guard: the guard would
// refuse the present holder, and the later holders with tokens of that block.
//
// The token is a counter of its own beside the lock, without a TTL. Unlocking and force-unlocking do not
// touch it, and it stays when the lock is gone: a name that was locked once costs one small key for ever, so
// do not use an unlimited number of names. A TTL that was put on the counter, as Redisson's expire and its
// multi-lock with a lease do, is removed by the next acquisition from Go.
//
// The counter may be lost or go back: the server restarted empty, a failover promoted a replica without the
// last write, the key was deleted. The next re-entry or Unlock that reaches Redis raises the counter to the
// tokens of its own process. If another process is issued tokens before that, they are issued a second time,
// and then the store cannot know which holder is the newer one. A guard that has seen greater tokens refuses
// the present holder. A guard that has not may take the late write of a former holder, because that has a
// greater token. Of two owners of one token the guard takes the first to show it, if each names its owner, as
// every Hold does. [redlatch.WithReplicas] makes such a loss less likely, because an acquisition then counts
// only when replicas have its token. With [fencedlock.WithClockTokens] the loss does no harm, if the servers'
// clocks agree.
//
// In everything else the lock is that of package rlock: watchdog, waiting, messages, order. Do not use both
// kinds on one name, because a plain lock issues no token.
package fencedlock

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

// New makes a reentrant fenced lock. It does no I/O. It panics if the client is nil or of a kind that cannot
// carry locks; a bad name or option is reported by the calls. Options: WithLease, WithMaxHold, WithAtLeast,
// WithWait, WithWatchdogTimeout, WithReplicas, WithoutLocalHandOff, WithClockTokens, and those that every
// primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{base: baselock.New(client, name, &reentrant, opts)}
}

// NewNonReentrant makes a fenced lock that its own holder cannot take a second time: asked with a context
// that carries the hold, it fails at once with ErrNotReentrant.
func NewNonReentrant(client redlatch.Client, name string, opts ...redlatch.Option) *Lock {
	return &Lock{base: baselock.New(client, name, &nonReentrant, opts)}
}

// made is the base of a lock that New has made.
func (l *Lock) made() *baselock.Base {
	return errs.Made(l.base, "fencedlock.Lock is used without New; make it by fencedlock.New")
}

// Name returns the name that the lock was made with.
func (l *Lock) Name() string { return l.made().Name }

// Lock waits until the lock is held, ctx ends, or the time of WithWait is over; the Hold has the token. With
// a context that carries a live hold of this lock it re-enters. ctx governs the wait and nothing else. While
// the server fails it goes on for as long as [redlatch.WithOutage] says.
func (l *Lock) Lock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	hold, err := locking.Lock(ctx, l.made(), opts)
	return l.tokened(ctx, hold, err)
}

// TryLock asks once. The error matches ErrNotAcquired when another holder has the lock, or when other
// calls of this process wait for it.
func (l *Lock) TryLock(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
	hold, err := locking.TryLock(ctx, l.made(), opts)
	return l.tokened(ctx, hold, err)
}

// Do takes the lock, runs fn with the hold's context and gives the lock back; see [redlatch.Do]. fn gets
// its token by [TokenFrom].
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error, opts ...redlatch.Option) error {
	return redlatch.Do(ctx, l, fn, opts...)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out while the
// lock is busy; see [redlatch.TryDo].
func (l *Lock) TryDo(ctx context.Context, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	return redlatch.TryDo(ctx, l, fn, opts...)
}

// LastToken returns the token issued last, 0 when none was. It says nothing about the present holder, and may
// be greater than the token of any holder: the last token of a block is issued to a process before a
// goroutine there has it.
func (l *Lock) LastToken(ctx context.Context) (int64, error) {
	return baselock.Ask(ctx, l.made(), lastToken(l.made().Key))
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
// The tokens continue from where they are. The holder learns of it within a third of the watchdog timeout
// plus a second.
func (l *Lock) ForceUnlock(ctx context.Context) (bool, error) {
	return locking.ForceUnlock(ctx, l.made())
}

// Inspect returns who holds the lock, how many times, and how long it still lasts. Its Token is the result of
// LastToken, which is read after the rest, so it is never smaller than the holder's.
func (l *Lock) Inspect(ctx context.Context) (redlatch.Info, error) {
	info, err := locking.Inspect(ctx, l.made())
	if err != nil {
		return redlatch.Info{}, err
	}
	if info.Token, err = l.LastToken(ctx); err != nil {
		return redlatch.Info{}, err
	}
	return info, nil
}
