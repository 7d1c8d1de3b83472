// Package lockorder is the mutex of this library, and the order in which its mutexes are taken.
//
// A [Mutex] is a [sync.Mutex] and nothing else. In a build with the tag lockorder it knows besides which
// goroutine has it. Each time a goroutine takes a mutex while it has others, the pair of classes is looked up
// in the table of table.go, before the goroutine may block. A pair that is not there ends the process with
// both stacks. So the order is checked on every path that a test takes, whether or not two goroutines meet on
// it:
//
//	go test -tags lockorder ./internal/cohort
//
// That build also ends the process where a mutex is held while a command is sent, the program is called, or a
// hold ends: see [Unlocked]. Before each mutex it yields the processor now and then, for other interleavings.
//
// What is a lock and no mutex, as the send lock of an owner, has its place in the order by [Waits], [Has] and
// [Gone].
//
// A pair of the table that no test takes any more is told by .ci/lockorder, from what the processes of a
// whole run have written to the file that REDLATCH_LOCKORDER names.
package lockorder
