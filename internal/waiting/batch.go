package waiting

// A Batch is those who stand behind the head, first come first, when the head's attempt asks for them as well. They go on
// waiting meanwhile and may leave; nobody else can serve them, for the head stays in front of them until its attempt is
// over.
type Batch []*waiter

// Behind is the batch of the head, of most at most. It ends before a waiter that cannot be given anything.
func (l *Line) Behind(most int) Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 1
	for n < len(l.waiters) && n <= most && l.waiters[n].offer != nil {
		n++
	}
	return append(Batch(nil), l.waiters[1:n]...)
}

// Who is what the waiter has said of itself.
func (b Batch) Who(i int) any { return b[i].offer.Who }

// Serve ends the wait of the first n of the batch, with what gift makes for each, and returns those of them who had left.
func (l *Line) Serve(b Batch, n int, gift func(i int) any) (left []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	there := 0
	for i, w := range b[:n] {
		if w.left {
			left = append(left, i)
			continue
		}
		w.offer.Gift = gift(i)
		l.serveLocked(w, nil)
		there++
	}
	l.removeLocked(1, 1+there) // who is left of a batch stands together, right behind the head
	return left
}

// Left tells whether one of the batch has left.
func (l *Line) Left(b Batch, i int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return b[i].left
}
