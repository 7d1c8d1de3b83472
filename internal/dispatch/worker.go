package dispatch

import (
	"slices"
	"time"
)

// A worker is a goroutine that leads on behalf of callers who may leave. Parked ones are reused: starting a goroutine
// for each command costs a lone caller a quarter of its speed.
type worker struct {
	next chan batch // capacity 1: who unparks a worker never waits for it
}

// unparkLocked takes the worker that was parked last, or returns nil.
func (n *node) unparkLocked() *worker {
	last := len(n.idle) - 1
	if last < 0 {
		return nil
	}
	w := n.idle[last]
	n.idle[last] = nil
	n.idle = n.idle[:last]
	return w
}

// handOver lets w, or a new worker, lead b.
func (n *node) handOver(w *worker, b batch) {
	if w == nil {
		go n.work(b)
		return
	}
	w.next <- b
}

// work leads batch after batch, parks when nothing is queued, and ends when nobody came for the linger time.
func (n *node) work(b batch) {
	w := &worker{next: make(chan batch, 1)}
	var timer *time.Timer
	for {
		b.send(n.client)
		linger := n.linger()

		n.mu.Lock()
		var more bool
		if b, more = n.takeLocked(); more {
			n.mu.Unlock()
			continue
		}
		n.leaders--
		if linger <= 0 {
			n.mu.Unlock()
			return
		}
		n.idle = append(n.idle, w)
		n.mu.Unlock()

		if timer == nil {
			timer = time.NewTimer(linger)
		} else {
			timer.Reset(linger)
		}
		select {
		case b = <-w.next:
			timer.Stop()
		case <-timer.C:
			if n.retire(w) {
				return
			}
			b = <-w.next // unparked at the last moment
		}
	}
}

// retire takes w off the parked ones, unless somebody has just unparked it.
func (n *node) retire(w *worker) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := slices.Index(n.idle, w)
	if at < 0 {
		return false
	}
	n.idle = slices.Delete(n.idle, at, at+1)
	return true
}
