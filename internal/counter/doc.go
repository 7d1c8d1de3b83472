// Package counter is what semaphores and latches share: operations on a number in Redis. The number says how
// many permits or counts are left, and not which call has them. So a script cannot tell from the number
// whether it was executed before, and each operation has to take effect exactly once however often its
// command is executed.
//
// # Nouns
//
// An operation is one change of the number. A lane is a place in Redis where the server remembers one
// operation, the latest there, and its answer (see scripts/lane); an operation borrows a lane and has a
// sequence number in it. A fence is a command with the next sequence number: after it, no copy of the
// operation has an effect. A seeker is a call that wants permits, and an attempt is one script that asks for
// what a seeker wants. A lot is the permits that this process has, which may move between its calls without a
// command.
//
// # Exactly once
//
// A resend in the same lane with the same number is harmless. When the outcome of an operation is unknown its
// lane stays lent until the operation is settled in the background:
//
//	operation                 in doubt it is    and then
//	------------------------  ----------------  --------------------------------------------------------
//	an acquisition            undone            the call has nothing, whatever was executed
//	a release, a count-down   carried through   it has taken effect once
//	any other change          fenced            it took effect before the fence, or never will
//
// # Waiting
//
// The calls of a process that wait for one counter stand in a local queue, and only the head asks. When it
// was served the next one asks at once. Of permits without names the head takes as many beside as the calls
// behind it want, if each wants the same number, and these move to them without a command:
//
//	head asks ── refused ─► it waits, and its process stands in the process queue
//	    │
//	    └─ served, with so many beside ─► the head leaves, and the others are given theirs in their order
//	                                          └── what no call wants any more goes back
//
// The script has the context of the head: when that ends, all that the script took is undone, and the waiter
// that is first then asks anew. When a process dies, what it took is gone as if it had been held, and permits
// with leases come back with these.
//
// # Reading order
//
// Calls run down. acquire.go is a call for permits: it asks once, and waits in seek.go, whose head asks by
// attempt.go. queue.go has the way into the local queue and the process queue. await.go is a call that waits
// for a latch. A release begins in move.go and keep.go, with the lot of lot.go, and goes on in operation.go,
// as every other change does; together.go is in front of it for latches. All that is in doubt ends in
// settle.go. seeker.go, shortage.go, check.go and counter.go are what the others stand on.
package counter
