// Package suite has the tests of the whole module: those that need several primitives, or look at what all of them do.
//
// What owns its servers and mostly waits for them runs in parallel, and so does what runs on fake time. The others run before that, one
// after the other: they change or count what belongs to the process (its environment, allocations, goroutines), or count what goes by
// the clock, as the scripts of a lock that goes round. No test that runs in parallel has a lease below two seconds, for its neighbours
// keep the processors busy.
package suite
