package dispatch

import (
	"context"
	"sync/atomic"
	"time"
)

// A poll worker is a worker for the caller that is alone. The two hand each other the command and its end by
// events instead of channels, so that everything stays on one thread: on two processors, one of them the
// server's, that is worth a third of the caller's speed. Callers that are not alone keep several threads
// awake anyway, and use channels.
type pollWorker struct {
	node    *node
	next    chan batch // capacity 1; looked at after an event. An empty batch ends the worker
	come    *event     // wakes the worker
	back    *event     // wakes its caller
	resting bool       // nothing is under way; guarded by node.mu
	parked  uint64     // node.sweeps when it came to rest; guarded by node.mu

	// A caller that leaves early may still be on its way out when the worker rests again. taken is set under
	// node.mu and cleared without, by the caller, to whom the fields below belong meanwhile.
	taken   atomic.Bool
	ctx     context.Context
	request *request
	ended   bool      // the request has
	handed  time.Time // when it was handed over; the worker reads it too

	// The worker's, and that of a caller that finds it resting.
	batch batch
	pause time.Duration // after the last slow hand-over; 0 when that is long ago
	quick int           // hand-overs since that were not slow
	again time.Time     // not to be used before

	arrive, over func(fd uintptr) bool // take and look, made once
	wake         func()                // back.rouse, made once
}

// The poller's turn comes when a processor has nothing else to run, or every 10 ms. Among goroutines that
// compute all the time a poll worker is slower than a channel, so it is left alone for a while after a
// hand-over that took longer than slow, for longer each time.
const (
	slow       = 500 * time.Microsecond
	firstRest  = 20 * time.Millisecond
	longRest   = time.Second
	manyQuick  = 100  // in a row forgive what was before: also a busy processor is quick most of the time
	clockBegin = 2020 // no clock that shows the time shows an earlier year
)

// pollWorkerLocked returns the poll worker for a caller that is alone, or nil where channels are the better
// way.
func (n *node) pollWorkerLocked() *pollWorker {
	now := time.Now()
	x := n.pollWorker
	switch {
	case x != nil:
		if !x.resting || x.taken.Load() || now.Before(x.again) {
			return nil
		}
	case now.Before(n.noPollWorker) || n.linger() <= 0 || now.Year() < clockBegin:
		// A goroutine that waits for the poller does not count as blocked in a bubble of testing/synctest,
		// whose fake clock would stand still for ever. It starts in the year 2000.
		return nil
	default:
		if x = newPollWorker(n); x == nil {
			n.noPollWorker = now.Add(longRest) // there may be none, or the process may be out of files for now
			return nil
		}
		n.pollWorker = x
		go x.work()
	}
	x.resting = false
	x.taken.Store(true)
	return x
}

func newPollWorker(n *node) *pollWorker {
	x := &pollWorker{node: n, next: make(chan batch, 1), come: newEvent(), back: newEvent()}
	if x.come == nil || x.back == nil {
		x.close()
		return nil
	}
	x.arrive, x.over, x.wake = x.take, x.look, x.back.rouse
	return x
}

func (x *pollWorker) close() {
	for _, e := range []*event{x.come, x.back} {
		if e != nil {
			e.close()
		}
	}
}

// do has the worker lead b, which is one request, and waits for its end or for that of ctx.
func (x *pollWorker) do(ctx context.Context, b batch) error {
	r := b.requests[0]
	r.back = x.back
	x.ctx, x.request, x.ended, x.handed = ctx, r, false, time.Now()
	x.next <- b
	x.come.set()
	stop := context.AfterFunc(ctx, x.wake)
	_ = x.back.wait(x.over) // an error means an event that does not work: what follows does without
	stop()                  // an event that comes nevertheless wakes the next caller once for nothing
	ended := x.ended
	x.ctx, x.request = nil, nil
	x.taken.Store(false)
	if ended {
		return x.node.reply(r)
	}
	return x.node.await(ctx, r)
}

// look tells whether the caller's wait is over.
func (x *pollWorker) look(uintptr) bool {
	select {
	case <-x.request.done:
		x.ended = true
		return true
	default:
		return x.ctx.Err() != nil
	}
}

// take tells whether the worker has something to do.
func (x *pollWorker) take(uintptr) bool {
	select {
	case x.batch = <-x.next:
		return true
	default:
		return false
	}
}

// work leads what it is handed, and what has queued meanwhile, until it is told to end.
func (x *pollWorker) work() {
	defer x.close()
	defer x.leave()
	for x.come.wait(x.arrive) == nil && !x.batch.empty() {
		x.judge(time.Since(x.handed))
		for more := true; more; {
			took := x.node.send(x.batch)
			x.batch, more = x.node.takeOrRest(x, x.batch.trip, took)
		}
	}
}

// leave has the node do without the poll worker, if a hook of the client has ended its goroutine.
func (x *pollWorker) leave() {
	x.node.mu.Lock()
	defer x.node.mu.Unlock()
	if x.node.pollWorker == x {
		x.node.pollWorker = nil
	}
}

// judge decides from the time that a hand-over took when the next one may be.
func (x *pollWorker) judge(took time.Duration) {
	if took < slow {
		if x.quick++; x.quick == manyQuick {
			x.pause = 0
		}
		return
	}
	x.quick = 0
	x.pause = min(max(2*x.pause, firstRest), longRest)
	x.again = time.Now().Add(x.pause)
}

// takeOrRest takes what is queued for the poll worker that has just led, or lets it rest.
func (n *node) takeOrRest(x *pollWorker, t trip, took time.Duration) (b batch, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if b, more = n.nextLocked(t, took); more {
		return b, true
	}
	x.resting, x.parked = true, n.sweeps
	n.planLocked()
	return batch{}, false
}

// dismissLocked ends a poll worker that has rested for a whole interval. It reports whether there is none any
// more.
func (n *node) dismissLocked() bool {
	x := n.pollWorker
	if x == nil {
		return true
	}
	if !x.resting || x.taken.Load() || x.parked == n.sweeps {
		return false
	}
	n.pollWorker = nil
	x.next <- batch{}
	x.come.set()
	return true
}
