// Package redlock is a lock over several independent Redis servers: it is held when a majority of them has
// granted it, as the Redlock algorithm says, and it can be taken as long as a majority is up.
//
//	lock := redlock.New([]redlatch.Client{a, b, c, d, e}, "orders:42") // five servers that know nothing of each other
//	err := lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx) // ctx ends the moment too few servers may still hold the lock
//	})
//
//	          granted by a majority, in time
//	asking ──────────────────────────────────► held ──Unlock──► released on all
//	  │  ▲                                      │
//	  ▼  │ pause, or a message                  └── fewer than a majority can be trusted ──► lost
//	 released on all that granted, or may have
//
// All servers are asked at the same time, each for a short time ([redlock.WithNodeTimeout]). Lock waits for a
// majority and hardly longer: a server that is down or hung costs nothing while the others agree, and a grant
// that it sends later joins the hold or is given back. A re-entry that is made before then asks that server
// when it has answered, so that it comes to stand on the same servers. The hold is valid for the lease,
// counted from just before the servers were asked, less an allowance for the drift of their clocks: one
// percent of the lease plus 2 ms, and 10 ms at least. Without [redlatch.WithLease] each server's lease is the
// watchdog timeout and is renewed on its own; the hold goes on while a majority is renewed.
//
// The first server decides whose turn it is. There a waiter stands in the queue in which the waiters of
// package rlock stand. A release hands the first server's grant to one process, which then asks the others.
// If these refuse, it asks them again for some milliseconds, and then gives the grant back. A newcomer that
// the first server refuses leaves what the others granted to the process whose turn it is. It waits for the
// first server's answer no longer than the others took. Now and then, six times in the time of
// [redlatch.WithPoll] at least, a waiter asks the others without the first server: what that one knows may be
// left of a process that has died. All processes should name the servers in the same order.
//
// While the first server is down, the second decides, or the third of five. A process finds that out by
// waiting for it once, for the time of [redlock.WithNodeTimeout], and that it is back by its next answer. So
// a server that is down, whichever it is, holds up the first calls that want the lock, and none after that.
//
// Goroutines of one process hand the lock on to one another without a command. They do not if a server that
// granted the lock has lost it, if a command to one of the servers is still under way, or if one of the two
// calls has a lease of its own.
//
// On each server the lock is the lock of package rlock with the same name, as it is for Redisson's RedLock.
//
// # What it is not
//
// One server with a replica loses a lock when the primary dies before it has replicated. Redlock closes that
// gap as long as the servers' clocks run at the same speed, no clock jumps, and a server that has lost its
// memory stays away for longer than the longest lease, or keeps its memory on disk (appendfsync always). If
// two of five restart empty at once, two holders are possible. And like every lock with a lease it cannot
// stop a process that was suspended right after it checked its context. It needs five servers and is slower
// than one.
//
// When a wrong result is worse than a slow one, let the protected store decide: package fencedlock gives each
// holder a number that only grows, and the store refuses writes with an older one. That is correct with one
// server and with any number of suspended processes; use it when the store can compare numbers. A redlock
// issues none, because the numbers of independent servers have no order.
//
// # Failures
//
// When fewer than a majority answer, Lock keeps trying for the time set by [redlatch.WithOutage], and TryLock
// does not; the error then does not match ErrNotAcquired, because no holder of the lock is known. Errors list
// for each server what it said: [NodeError]. Servers that restart empty while the lock is held are not asked
// again; the hold ends when too few are left.
package redlock
