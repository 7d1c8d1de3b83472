package dispatch

import (
	"runtime"
	"slices"
	"time"
)

// A worker is a goroutine that leads on behalf of callers that may leave. Parked ones are reused: starting a
// goroutine for each command costs a lone caller a quarter of its speed.
type worker struct {
	next   chan batch // capacity 1, so a goroutine that unparks a worker never waits. An empty batch ends it
	parked uint64     // node.sweeps when it was parked
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

// work leads batch after batch, and parks when nothing is queued.
func (n *node) work(b batch) {
	w := &worker{next: make(chan batch, 1)}
	for !b.empty() {
		took := n.send(b)
		runtime.Gosched() // a caller that has its reply may have the next command ready, which leaves with the others
		var more bool
		if b, more = n.takeOrPark(w, b.trip, took); !more {
			b = <-w.next
		}
	}
}

// takeOrPark takes what is queued for a worker that has just led. Otherwise it parks the worker, or ends it
// where nothing is to linger.
func (n *node) takeOrPark(w *worker, t trip, took time.Duration) (b batch, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if b, more = n.nextLocked(t, took); more {
		return b, true
	}
	if n.of.linger() <= 0 {
		return batch{}, true
	}
	w.parked = n.sweeps
	n.idle = append(n.idle, w)
	n.planLocked()
	return batch{}, false
}

// planLocked sees to it that there will be a sweep. The linger time may have become 0 while the worker of a
// courier is under way, which no sweep can end.
func (n *node) planLocked() {
	if !n.planned {
		n.planned = true
		time.AfterFunc(max(n.of.linger(), time.Millisecond), n.sweep)
	}
}

// sweep ends the workers that have been parked for at least the linger time. One timer for all costs a
// command nothing, where a timer for each worker would have to be set and stopped around every command.
func (n *node) sweep() {
	n.mu.Lock()
	defer n.mu.Unlock()
	fresh := 0 // the longest parked come first, for the last parked is used first
	for fresh < len(n.idle) && n.idle[fresh].parked < n.sweeps {
		n.idle[fresh].next <- batch{}
		fresh++
	}
	n.idle = slices.Delete(n.idle, 0, fresh)
	none := n.courier == nil || n.courier.sweepLocked()
	n.sweeps++
	n.planned = false
	if len(n.idle) > 0 || !none {
		n.planLocked()
	}
}
