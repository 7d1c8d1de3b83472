// Package composite acquires, hands on and gives back several locks at once, for the primitives that stand on
// other locks.
//
// A composite hands its members on to the next of its own waiters as a single lock is handed on: each
// member's tenure is moved, and no command is sent. All members are moved, or none.
//
//	                   every tenure's send lock is free, and the next call fits every tenure
//	held by a composite ───────────────────────────────────────────────────────────► held by the next one
//	         │
//	         └── it does not fit one of them: all stay as they are, and the composite gives them back
package composite
