// Package history is what a run has recorded, and what the records say together: who called what and when, what came
// back, and what was done to processes and servers meanwhile.
//
// Every process writes a journal of its own, one record a line. A call is on record before it is made, so a process that
// is killed leaves no act without a record. Journals never pass through Redis or through one another: that would put
// their processes in an order, and hide the races that the checker looks for. All journals of a run read one clock,
// which no process can set: CLOCK_MONOTONIC of the machine, or the fake time of a simulation.
//
// The package imports the standard library only, and nothing of redlatch: what is judged must not be judged by itself.
package history
