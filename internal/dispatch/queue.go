package dispatch

// A queue is the requests that no leader has taken yet, in their order of arrival. The links are in the
// requests, so that to queue allocates nothing, and a caller whose context ends leaves without a search. The
// zero value is empty.
type queue struct {
	first, last *request
	length      int
}

// push adds r at the end.
func (q *queue) push(r *request) {
	r.queued, r.before = true, q.last
	if q.last == nil {
		q.first = r
	} else {
		q.last.behind = r
	}
	q.last = r
	q.length++
}

// shift takes the first out. There has to be one.
func (q *queue) shift() *request {
	r := q.first
	q.remove(r)
	return r
}

// remove takes r out, which is queued.
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
	r.queued, r.before, r.behind = false, nil, nil
	q.length--
}
