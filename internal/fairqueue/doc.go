// Package fairqueue knows which of this process's waiters stand in the queue that a fair lock keeps in Redis, and
// decides which of them asks, and when. It knows nothing of Redis itself.
//
//	came ──door──► standing ──first of ours──► front ──acquired──► gone
//	                ▲    │ ▲                    │
//	                │    │ └── another is first ┤
//	      its entry │    ▼                      │
//	     was made   lacking ◄── its entry ──────┘
//	     again           is gone
//
// Each waiter has an entry of its own in Redis, made by its own first attempt. Attempts are first made at the door, one
// at a time, so the entries stand in the order in which the calls came. From then on only the front, the first of ours
// in the queue as far as we know, asks: when its own message comes it asks for itself, and when time is up it also
// confirms the entries of the others, which is one command for the whole process. The answer tells who still has an
// entry, and who is next; if that is another of ours, that one asks at once. If an entry is gone, because the process was
// suspended for longer than its waiters' patience, its waiter makes a new one at the end.
//
// Only a waiter itself makes its entry. The front could do it for all, but the command might be executed after one of
// them has left.
package fairqueue
