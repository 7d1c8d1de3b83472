// Package demo lets worker processes share jobs by means of a lock, a semaphore and two latches, kills one of them,
// and verifies what happened.
//
//	parent   set up ── start workers ── open the start latch ── await the finish latch ── verify ── remove all keys
//	                                                  │ kill one that holds the lock
//	worker   await start ─► lock: take a job ─► semaphore: run it ─► lock: record it as done ─► count down ─┐
//	                           ▲                                                                           │
//	                           └───────────────────────────────────────────────────────────────────────────┘
//
// The jobs stand in a ledger, one value in Redis that is read, changed and written back with two commands: only the
// lock makes that right. A job belongs to the worker that took it for as long as that worker is present, which it
// shows by holding a lock of its own all its life; a job of an absent worker is taken by another.
//
// What is verified does not rest on the primitives. The workers write what they do into a journal, a stream, so that
// Redis itself puts it in order and on its clock; they leave a mark in a witness key when they enter the critical
// section and look whether it is still theirs when they leave; and they count themselves with INCR and DECR while they
// run a job. The parent replays the journal and judges (see facts).
//
// What a kill at the worst moment can do, and no lock can prevent:
//
//   - A worker that ran a job and dies before it recorded that has the job run again. "Done" is what is recorded.
//   - A worker that recorded a job and dies before it counted down leaves the finish latch closed. The parent sees all
//     workers gone and says so.
//   - A permit of a plain semaphore dies with its holder. The parent gives it back when the journal proves that there
//     was one. The worker killed on purpose has none.
package demo
