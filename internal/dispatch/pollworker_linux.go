package dispatch

import (
	"context"
	"sync/atomic"
	"time"
)

// A pollCourier keeps a poll worker while one is asked for.
type pollCourier struct {
	node   *node
	worker *pollWorker // nil when none has been asked for lately
	none   time.Time   // the system had none to give, and is not asked before
}

func newCourier(n *node) courier { return &pollCourier{node: n} }

// A pollWorker is a worker for the caller that is alone. The two hand each other the command and its end by
// events instead of channels, so that everything stays on one thread: on two processors, one of them the
// server's, a pair of Lock and Unlock is faster by two fifths, and takes half of the processor time. Callers
// that are not alone keep several threads awake anyway, and use channels.
type pollWorker struct {
	node    *node
	next    chan batch // capacity 1; looked at after an event. An empty batch ends the worker
	come    *event     // wakes the worker
	back    *event     // wakes its caller
	resting bool       // nothing is under way; guarded by node.mu
	parked  uint64     // node.sweeps when it came to rest; guarded by node.mu

	// A caller that leaves early may still be on its way out when the worker rests again. taken is set under
	// node.mu and cleared without, by the caller, to which the fields below belong meanwhile.
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
	slow      = 500 * time.Microsecond
	firstRest = 20 * time.Millisecond
	longRest  = time.Second
	manyQuick = 100 // in a row forgive what was before: also a busy processor is quick most of the time
)

func (c *pollCourier) takeLocked() bool {
	now := time.Now()
	x := c.worker
	switch {
	case x == nil && (now.Before(c.none) || c.node.of.linger() <= 0):
		return false
	case x == nil:
		if x = newPollWorker(c.node); x == nil {
			c.none = now.Add(longRest) // there may be none, or the process may be out of files for now
			return false
		}
		c.worker = x
		go x.work(c)
	case !x.resting || x.taken.Load() || now.Before(x.again):
		return false
	}
	x.resting = false
	x.taken.Store(true)
	return true
}

func (c *pollCourier) do(ctx context.Context, b batch) error { return c.worker.do(ctx, b) }

// inBubble tells whether the goroutine is in a bubble of testing/synctest. Its clock begins in the year 2000,
// and would stand still for ever while a goroutine waits for the poller.
func inBubble() bool { return time.Now().Year() < 2020 }

// newPollWorker makes a poll worker, or nil.
func newPollWorker(n *node) *pollWorker {
	if inBubble() {
		return nil
	}
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

func (x *pollWorker) do(ctx context.Context, b batch) error {
	r := b.requests[0]
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
func (x *pollWorker) work(c *pollCourier) {
	defer x.close()
	defer c.drop(x) // also when a hook of the client ends the goroutine
	for x.come.wait(x.arrive) == nil && !x.batch.empty() {
		x.judge(time.Since(x.handed))
		took := x.lead()
		for x.takeOrRest(took) {
			took = x.node.send(x.batch)
		}
	}
}

// lead sends what the worker was handed, and wakes the caller.
func (x *pollWorker) lead() time.Duration {
	defer x.back.set()
	return x.node.send(x.batch)
}

// drop has the node do without a worker that ends.
func (c *pollCourier) drop(x *pollWorker) {
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	if c.worker == x {
		c.worker = nil
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

// takeOrRest takes what is queued when the worker has led its batch, or lets it rest.
func (x *pollWorker) takeOrRest(took time.Duration) (more bool) {
	n := x.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if x.batch, more = n.nextLocked(x.batch.trip, took); more {
		return true
	}
	x.resting, x.parked = true, n.sweeps
	n.planLocked()
	return false
}

func (c *pollCourier) sweepLocked() (none bool) {
	x := c.worker
	if x == nil {
		return true
	}
	if !x.resting || x.taken.Load() || x.parked == c.node.sweeps {
		return false
	}
	c.worker = nil
	x.next <- batch{}
	x.come.set()
	return true
}
