// Package fairqueue knows which of this process's waiters stand in the queue that a fair lock keeps in Redis,
// and decides which of them asks, and when. It knows nothing of Redis itself.
//
//	outside ──its own command, or one that carries it──► entering ──► standing ──first of ours──► front ──asked──► served
//	   ▲                                                    │          ▲    │ ▲                     │
//	   └──────────── the command was not executed ──────────┘    anew  │    │ └── another is first ─┤  standing, and handed the
//	                                                                   │    ▼                       │  lock in Redis, or by the
//	                                                                 lacking ◄── its entry is gone ─┘  one in front ──► served
//
// Each waiter has an entry of its own in Redis. One command at a time makes entries, for the waiters in their
// order, so they stand in the order in which the calls came: the first that is outside sends it, or a release
// of this process carries them. From then on only the front, the first of ours in the queue as far as we
// know, asks: when its own message comes it asks for itself, and when time is up it also confirms the entries
// of the others, which is one command for the whole process. The answer tells who still has an entry, and who
// is next; if that is another of ours, that one asks at once. If an entry is gone, because the process was
// suspended for longer than its waiters' patience, its waiter makes a new one at the end.
//
// Only a waiter itself makes its entry anew. The front could do it for all, but the command might be executed
// after one of them has left.
//
// Where one of this process holds, the row is those of its waiters which stand right behind it in Redis. They
// are given the lock in that order. Their entries stay in the queue until the next release of the process,
// which carries their names.
package fairqueue
