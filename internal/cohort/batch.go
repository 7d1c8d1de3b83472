package cohort

// A Batch is the waiters behind the head, in their order, for which the head's attempt asks as well. They go
// on waiting meanwhile and may leave. Nothing else can serve them, because the head stays in front of them
// until its attempt is over.
type Batch []*waiter

// Behind is the batch of the head, of most waiters at the most. It ends before a waiter that cannot be given
// anything.
func (q *Queue) Behind(most int) Batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 1
	for n < len(q.waiters) && n <= most && q.waiters[n].request != nil {
		n++
	}
	return append(Batch(nil), q.waiters[1:n]...)
}

// Who is the Request.Who of the waiter i of the batch.
func (b Batch) Who(i int) any { return b[i].request.Who }

// Serve ends the wait of the first n of the batch. Each gets what grant makes for it. left are those of the n
// that had left.
func (q *Queue) Serve(b Batch, n int, grant func(i int) any) (left []int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	there := 0
	for i, w := range b[:n] {
		if w.state == gone {
			left = append(left, i)
			continue
		}
		w.request.Grant = grant(i)
		w.serveLocked(nil)
		there++
	}
	q.removeLocked(1, 1+there) // what is left of a batch stands together, right behind the head
	return left
}
