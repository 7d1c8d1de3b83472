// Package cohort is the engine by which the goroutines of one process share what one name stands for in
// Redis. In the literature (Dice, Marathe and Shavit, "Lock Cohorting", 2012) a cohort is a group of threads
// with a local lock in front of a global one. Here the group is the goroutines of one process, the local lock
// is a queue in its memory, and the global lock is in Redis. The lock is handed on within the cohort for a
// bounded time, and then goes to another cohort.
//
//	Queue       the local queue: the waiters of this process, in their order of arrival; only the head asks Redis
//	Claim       the right of a holder to give the head what it waits for, without the head asking
//	Streak      hand-offs without a release in between, and how old the news are on which they rest
//	Candidacy   the identity under which this process stands in the process queue, which is in Redis
//	Holder      the mark that this process holds
//	Cohort      a queue with its candidacy and its subscriptions
//	Registry    the cohorts of one client, by key
//
// # Nouns
//
// A waiter is a call that waits for a key. The head is the first waiter of a local queue. An attempt is one
// question of the head to Redis. A request is what a waiter shows to a holder of its process, and a grant is
// what the holder puts into it: a waiter with a grant holds, and has asked nothing. News is the last answer
// of Redis that says that this process holds. A yield window is a time in which the process leaves a key to
// others.
//
// # A release
//
// A holder that releases claims the head. While the head is claimed it makes no attempt, so it cannot be
// given the lock twice. What comes next depends on the streak and on what the holder can hand on:
//
//	head      streak     the holder's terms     what happens
//	--------  ---------  ---------------------  ------------------------------------------------------------
//	none      any        any                    Unclaimed: other processes may have it
//	claimed   goes on    suit the head          Given: the head holds, and no command is sent
//	claimed   goes on    do not suit the head   Unfit: a script may hand it over, or the head asks
//	claimed   is over    any                    Due: other processes come first, and the head after them
//
// # Three ways to the lock
//
// The head gets the lock by its own attempt, by a grant of a holder of its process, or by a message that says
// that another process has handed it to the candidate. Only one of the three may succeed: a claim keeps the
// head from asking, and the message is not believed while an ask of the candidate is under way.
//
// # For a caller
//
// The package sends no command and knows no primitive: its callers ask, release and hand over. It keeps the
// waiters and the holders of each key, and decides which waiter is next. A caller ends each claim exactly
// once, also after a panic.
//
// # Reading order
//
// Calls run down. A release comes from handoff.go by registry.go to claim.go. A wait comes from wait.go,
// where the head asks, to schedule.go, which says when. Both end in queue.go and request.go, the waiters and
// how far each of them is. A message of another process comes from enqueue.go to candidate.go and claim.go.
// The rest can be read alone: cohort.go, streak.go, key.go; taken.go, what the process took away; and
// share.go, shares.go and attend.go, which are for readers.
package cohort
