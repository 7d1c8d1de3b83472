package dispatch

// A queue has the requests that no leader has taken yet, in the order of their arrival. Each operation on one request is
// a fixed number of steps: when a server hangs, the contexts of all its callers may end together, and each caller takes
// its request out of a queue that has the requests of all the others.
type queue struct {
	first, last *request
	len         int
}

func (q *queue) push(r *request) {
	r.before, r.behind = q.last, nil
	if q.last == nil {
		q.first = r
	} else {
		q.last.behind = r
	}
	q.last = r
	q.len++
}

// remove takes out a request that is in the queue.
func (q *queue) remove(r *request) {
	if r.before == nil {
		q.first = r.behind
	} else {
		r.before.behind = r.behind
	}
	if r.behind == nil {
		q.last = r.before
	} else {
		r.behind.before = r.before
	}
	r.before, r.behind = nil, nil
	q.len--
}

// pop takes out the first request of a queue that is not empty, for a leader.
func (q *queue) pop() *request {
	r := q.first
	q.remove(r)
	r.taken = true
	return r
}
