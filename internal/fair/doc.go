// Package fair has the ways in which a fair lock is acquired and given back. Each of its waiters stands in a
// queue in Redis, from its first question on.
//
// A fair lock goes to the first in its queue, in Redis. Where those who stand there one behind the other are
// waiters of one process, its holders hand the lock on among them without a command, in that order:
//
//	                        a release has the first hold, and names those behind it
//	first of ours in Redis ─────────────────────────────────────────────────────────► holds, with a row
//	                                                                                     │  ▲
//	                            the next of the row, and the news is fresh: local hand-off│  │
//	                                                                                     └──┘
//	                             else: a release, which removes the entries of those who were served
//
// The entries of a row stay in the queue until that release. So no other waiter can overtake those who are
// not served yet, whatever becomes of the lock or of this process.
package fair
