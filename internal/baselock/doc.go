// Package baselock is the engine of every lock: acquire, re-enter, keep alive, hand on, lose, release.
//
// # Nouns
//
// An owner is one identity in Redis, and the holds of this process that share it. A hold is one acquisition
// of the owner: the first, or a re-entry through the context of another hold. The lease is the TTL that Redis
// has; the trust is how long the process relies on it without asking, which is a margin less. News is the
// moment before the send of what Redis confirmed last.
//
// A successor is the owner that follows another one with the same identity, by a local hand-off: Redis hears
// nothing, and the lease, the trust and the news go over to it. A streak is the series of such successors,
// and is bounded. A candidate is an identity under which this process stands in the process queue in Redis.
//
// # The life of an owner
//
//	          acquired                     last Unlock
//	asking ─────────────► held ◄──┐ ─────────────────────► released
//	  │                    │      │ re-entry, partial           │
//	  │ ctx ends           │      │ release                     │ unconfirmed, or a
//	  ▼                    ├──────┘                             ▼ send in doubt
//	abandoned              └──► lost ──► (released)          settling
//
// Redis keeps the owner's hold count, but never decides it: every script carries the absolute count, so it
// may be executed twice. That stands on these rules:
//
//   - The count-changing commands of one owner are sent one at a time, under its send lock; the next is computed when
//     the outcome of the previous one is known or given up.
//   - Re-entry and partial release never create the owner's field. If the field is gone the owner is lost, for all its
//     holds.
//   - The last release deletes the field whatever its count: no other owner has this identity, unless a successor has,
//     and then the owner before it sends nothing any more.
//   - A command may be executed long after its sender gave up. An owner with such a send is in doubt: for a minute it
//     is settled again and again, to the count of its live holds, or to nothing. It has no successor, ever.
//
// # Who holds next
//
// The last Unlock of an owner takes the first of these steps that is possible (release.go):
//
//	step                commands  the waiter that holds next                   it needs
//	------------------  --------  -------------------------------------------  ------------------------------------
//	local hand-off      none      the first of the local queue                 equal terms, no doubt, fresh news,
//	                                                                           a streak that is not over
//	atomic hand-off     one       the same waiter, as an owner of its own      a lock with such a script
//	remote hand-off     one       the first process of the process queue       a waiter there, or here
//	release             one       whichever asks first                         nothing
//
// A call that comes for a lock takes the first of these roads that is open to it (lock.go):
//
//	re-enter            its context carries a hold of this lock                reenter.go
//	beside              its context carries a hold of the other side           sides.go
//	stand               the lock is fair: a place in Redis from the start      stand.go, turn.go
//	join                readers of this process hold, and it reads             join.go
//	yield               the lock is left to other processes for a moment       lock.go
//	wait                calls of this process wait already, or hold            wait.go
//	ask                 none of these                                          lock.go
//
// # Reading order
//
// owner.go and hold.go are the nouns, lock.go and wait.go the way in, release.go, local.go, atomic.go and
// remote.go the way out; settle.go is about doubt, lost.go about losses, limit.go about the leases of single
// holds. sides.go and join.go are for read-write locks, stand.go and turn.go for fair ones, token.go for
// fenced ones, composite.go, together.go and giveall.go for multi-locks.
package baselock
