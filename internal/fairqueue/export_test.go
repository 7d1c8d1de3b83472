package fairqueue

import "time"

// Enter takes up a waiter whose entry was just made, and which hears its own channel.
func (q *Queue) Enter(owner string, patience, again time.Duration) *Waiter {
	w, _ := q.Come(owner, patience, owner, false)
	c := q.Load(Most)
	q.Carried(c, Done, time.Now(), 1, again)
	w.listens = true
	return w
}
