package proxy

import "sync"

// A queue never refuses an item, so a leg that is held up does not keep the other from being read. It has one reader.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	wake  chan struct{} // of one: there may be items
}

func newQueue[T any]() *queue[T] { return &queue[T]{wake: make(chan struct{}, 1)} }

func (q *queue[T]) push(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default: // the reader will look anyway
	}
}

// pop waits for the next item; false when stop was closed first.
func (q *queue[T]) pop(stop <-chan struct{}) (T, bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			item := q.items[0]
			q.items = q.items[1:]
			q.mu.Unlock()
			return item, true
		}
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-stop:
			var none T
			return none, false
		}
	}
}

func (q *queue[T]) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0
}
