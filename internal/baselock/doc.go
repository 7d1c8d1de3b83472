// Package baselock is the life of one hold, for every lock: acquire, re-enter, keep alive, lose, release.
//
// Each acquisition has an owner of its own, a fresh identity in Redis. Re-entries through the hold's context share it.
//
//	          acquired                     last Unlock
//	asking ─────────────► held ◄──┐ ─────────────────────► released
//	  │                    │      │ re-entry, partial           │
//	  │ ctx ends           │      │ release                     │ unconfirmed, or a
//	  ▼                    ├──────┘                             ▼ send in doubt
//	abandoned              └──► lost ──► (released)          settling
//
// Redis keeps the owner's hold count, but never decides it: every script carries the absolute count, so it may be
// executed twice. That stands on these rules:
//
//   - The count-changing commands of one owner are sent one at a time; the next is computed when the outcome of the
//     previous is known or given up.
//   - Re-entry and partial release never create the owner's field. If it is gone the owner is lost, for all its holds.
//   - The last release deletes the field whatever its count: nobody else has this identity.
//   - A command may be executed long after its sender gave up. An owner with such a send is in doubt: for a minute it
//     is settled again and again, to the count of its live holds, or to nothing.
package baselock
