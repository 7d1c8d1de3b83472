// Package baselock is what every lock stands on: the lock as one client knows it, and what this process has
// of it in Redis, from the grant to the end of the last doubt. How a call gets the lock and how it goes on to
// the next one is above it: in package locking, and for fair and read-write locks in fair and sides. Those
// are plugged in as the [Ways] of a [Kind].
//
// # Nouns
//
// An owner is an identity, which has a field in the lock's hash in Redis. A tenure is what this process has
// in one such field, from the grant to the end of the last doubt. A tenant is a first hold and its
// re-entries: it has a tenure, and of those that have had it the latest is the one that may act. A hold is
// one acquisition of the tenant: the first, or a re-entry through the context of another hold. The lease is
// the TTL that Redis has; the trust is how long the process relies on it without asking, which is a margin
// less. News is the moment before the send of what Redis confirmed last.
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
// # Reading order
//
// base.go and kind.go are the lock. tenure.go has the nouns above as types. keep.go is what happens to a tenure
// from its grant on, hold.go what the program does with a hold. move.go gives a tenure to its next tenant;
// reenter.go adds a hold to a tenant, giveback.go takes one off. send.go has the send lock, settle.go is about
// doubt, lost.go about losses, limit.go about the leases of single holds, guest.go about the read hold within a
// write hold, known.go about what Inspect tells.
//
// What other packages read and change of a tenure is exported. A field that a mutex guards says so. A function
// that is called with the mutex has a name that ends in Locked.
package baselock
