// Package baselock is the engine of every lock: acquire, re-enter, keep alive, hand on, lose, release.
//
// # Nouns
//
// An owner is an identity, which has a field in the lock's hash in Redis. A tenure is what this process has in
// one such field, from the grant to the end of the last doubt. A tenant is a first hold and its re-entries: it
// has a tenure, and of those that have had it the latest is the one that may act. A hold is one acquisition of
// the tenant: the first, or a re-entry through the context of another hold. The lease is the TTL that Redis
// has; the trust is how long the process relies on it without asking, which is a margin less. News is the
// moment before the send of what Redis confirmed last.
//
// A move, or local hand-off, has the next tenant begin in the same tenure: Redis hears nothing. A streak is a
// series of hand-offs within the process, and is bounded. A candidate is an identity under which this process
// stands in the process queue in Redis.
//
// # The life of a tenure
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
//   - The count-changing commands of one tenure are sent one at a time, under its send lock; the next is computed when
//     the outcome of the previous one is known or given up.
//   - Re-entry and partial release never create the owner's field. If the field is gone the tenure is lost, for all
//     holds of its tenant.
//   - The last release deletes the field whatever its count: nothing else has this identity, and a tenant that is not
//     the latest sends nothing any more.
//   - A command may be executed long after its sender gave up. A tenure with such a send is in doubt: for a minute it
//     is settled again and again, to the count of its live holds, or to nothing. It is not moved, ever.
//
// # Who holds next
//
// The last Unlock of a tenant takes the first of these steps that is possible (release.go):
//
//	step                commands  the waiter that holds next                   it needs
//	------------------  --------  -------------------------------------------  ------------------------------------
//	local hand-off      none      the first of the local queue                 equal terms, no doubt, fresh news,
//	                                                                           a streak that is not over
//	atomic hand-off     one       the same waiter, in a tenure of its own      a lock with such a script
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
// tenure.go, tenant.go and hold.go are the nouns, lock.go and wait.go the way in, release.go, move.go,
// atomic.go and remote.go the way out; send.go has the send lock, settle.go is about doubt, lost.go about losses, limit.go about the leases of single
// holds. sides.go and join.go are for read-write locks, stand.go and turn.go for fair ones, token.go for
// fenced ones, composite.go, together.go and giveall.go for multi-locks.
package baselock
