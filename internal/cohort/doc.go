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
// The package sends no command and knows no primitive: its callers ask, release and hand over. It keeps the
// waiters and the holders of each key, and decides which waiter is next.
package cohort
