// Package fairqueue knows which of this process's waiters stand in the queue that a fair lock keeps in Redis,
// and decides which of them asks, and when. It knows nothing of Redis itself.
//
// # Nouns
//
// An entry is the place of one waiter in the queue in Redis; each waiter has an entry of its own. The front
// is the waiter of this process whose entry stands before those of its other waiters. To confirm an entry is
// to tell Redis that its waiter is still there; an entry that is not confirmed within the patience of its
// waiter lapses. A row is the waiters of this process that stand in Redis right behind a holder of this
// process. A command carries an entry when it makes or removes the entry beside what it is sent for.
//
// # States of a waiter
//
//	state      its entry          it becomes   when
//	---------  -----------------  -----------  --------------------------------------------------------------
//	outside    none               entering     its own command is sent, or one that carries it
//	entering   may be there       standing     the command was executed
//	                              outside      the command was not executed
//	standing   there              front        it is the first of this process
//	                              lacking      its entry is gone
//	                              served       it was handed the lock in Redis, or by the holder before it
//	front      there, it asks     standing     another waiter of this process is first
//	                              lacking      its entry is gone
//	                              served       it has asked, and holds
//	lacking    gone               standing     it has made its entry anew, at the end of the queue
//
// # Which waiter sends
//
// One command at a time makes entries, for the waiters in their order, so they stand in the order in which
// the calls came: the first that is outside sends it, or a release of this process carries them. From then on
// only the front asks: when its own message comes it asks for itself, and when time is up it also confirms
// the entries of the others, which is one command for the whole process. The answer tells which waiters still
// have an entry, and which is next; if that is another waiter of this process, that one asks at once. If an
// entry is gone, because the process was suspended for longer than its waiters' patience, its waiter makes a
// new one at the end.
//
// Only a waiter itself makes its entry anew. The front could do it for all, but the command might be executed
// after one of them has left.
//
// Where a waiter of this process holds, the waiters of its row are given the lock in their order. Their
// entries stay in the queue until the next release of the process, which carries their names.
//
// # Reading order
//
// Calls run down. queue.go is how a waiter comes and goes, and what messages say. next.go is what it does
// next. carry.go is what a command carries for it, and row.go how a holder of its process gives it the lock.
// All of them stand on waiter.go, the queue and its waiters with the steps that several of them take.
package fairqueue
