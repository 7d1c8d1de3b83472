package fairqueue

import (
	"time"

	"github.com/redlatch/redlatch/internal/clock"
)

// Hand is for an owner of this process that was made to hold. One that does not wait any more gives the lock
// back by the command with which it leaves; the answer is an owner that is finished with, and has to be given
// up.
func (q *Queue) Hand(h *HandedTo) (over string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.findLocked(h.Row[0])
	if w == nil {
		return q.overLocked(h.Row[0])
	}
	w.handed = h
	w.rouse()
	return ""
}

// Over takes out the owners whose entries are to be removed. The caller sees to them.
func (q *Queue) Over() (owners []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	owners, q.finished = q.finished, nil
	return owners
}

// Heir is the waiter that stands right behind holder, an owner as which this process holds; nil if it is not
// known, or cannot be given the lock at this moment.
func (q *Queue) Heir(holder string) *Waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holder != holder {
		return nil
	}
	return q.heirLocked()
}

func (q *Queue) heirLocked() *Waiter {
	for len(q.row) > 0 {
		w := q.findLocked(q.row[0])
		switch {
		case w == nil: // it has left
			q.row = q.row[1:]
		case w.stage != standing, w.asking, w.lacks, w.handed != nil:
			return nil
		default:
			return w
		}
	}
	return nil
}

// Give ends the wait of w, if it stands right behind holder still. Its entry is removed by the next command.
func (q *Queue) Give(holder string, w *Waiter, grant any, due time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holder != holder || q.heirLocked() != w {
		return false
	}
	q.row = q.row[1:]
	q.finished = append(q.finished, w.Owner)
	q.leaveLocked(w, due)
	w.stage, w.grant = served, grant
	w.rouse()
	return true
}

// Stop ends the row behind holder: the lock is given back by a command.
func (q *Queue) Stop(holder string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.holder == holder {
		q.holder, q.row = "", nil
	}
}

// Freed notes that the lock was given back.
func (q *Queue) Freed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = false
	q.rouseOutsideLocked()
}

// Void makes old news of what the server has confirmed so far.
func (q *Queue) Void() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.void = clock.Now()
}

// Current tells whether no message has made old news of what was confirmed by a command sent then.
func (q *Queue) Current(news time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.void.IsZero() || news.After(q.void)
}

// Listens notes that the waiter hears its own channel from now on.
func (w *Waiter) Listens() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	w.listens = true
}
