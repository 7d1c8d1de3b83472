package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
)

const maxBatch = 256 // commands in one pipeline, so that the first reply is not held up by the last command

// A node is the way to one server: a queue, and the leaders that are under way.
type node struct {
	of     *Dispatcher
	client Client
	most   int   // leaders, however long a round trip takes
	made   int64 // in Unix nanoseconds

	inFlight atomic.Int64 // commands under way that have no answer yet
	answered atomic.Int64 // when the server last executed something, in Unix nanoseconds

	mu      lockorder.Mutex[lockorder.Node]
	leaders int   // on a trip, or between two
	limit   int   // how many leaders there may be; a leader whose trip is a straggler does not count
	queue   queue // while something is in it, the node ticks
	rtt     minRTT
	idle    []*worker // parked, the most recently used last
	sweeps  uint64    // how often the idle ones were looked through
	planned bool      // the next sweep is

	ticking                  bool
	ticks                    uint64
	fresh, older, stragglers int // trips that have seen no tick, one, and more

	courier courier // for a caller that is alone; nil: there is none

	// spare has requests that are over. It is the node's own: a channel made in a bubble of testing/synctest
	// must not turn up outside, where the runtime ends the process for it.
	spare sync.Pool
}

func newNode(d *Dispatcher, client Client) *node {
	n := &node{of: d, client: client, most: maxLeaders, made: time.Now().UnixNano(), limit: fewLeaders}
	if c, ok := client.(interface{ Options() *redis.Options }); ok {
		// Half of the connections are for whatever else the program does with its client.
		n.most = min(max(c.Options().PoolSize/2, fewLeaders), maxLeaders)
	}
	n.courier = newCourier(n)
	return n
}

// mayLeadLocked tells whether there may be one more leader.
func (n *node) mayLeadLocked() bool { return n.leaders-n.stragglers < n.limit && n.leaders < n.most }

// A request is one caller's command.
type request struct {
	ctx   context.Context // the caller's. The client's hooks get its values, and not its end
	cmd   redis.Cmder
	done  chan struct{} // receives once, when the command has ended
	panic *raise.Panic  // to be raised by its caller; set before done

	queued         bool        // guarded by node.mu, as are the links of the queue
	before, behind *request    // its neighbours there
	alone          [1]*request // the request itself, for a batch that has no other

	// parted is set by the first of two: the caller, when it leaves, and the worker, when a hook has panicked.
	// The second learns by it that the caller will not raise the panic, or that it has to.
	parted atomic.Bool
}

func (n *node) request(ctx context.Context, cmd redis.Cmder) *request {
	r, _ := n.spare.Get().(*request)
	if r == nil {
		r = &request{done: make(chan struct{}, 1)}
		r.alone[0] = r
	}
	r.ctx, r.cmd = ctx, cmd
	r.parted.Store(false)
	return r
}

// free takes back a request whose done has been received, or that never left.
func (n *node) free(r *request) {
	r.ctx, r.cmd, r.panic = nil, nil, nil
	n.spare.Put(r)
}

func (n *node) do(ctx context.Context, cmd redis.Cmder) error {
	_, here := ctx.(limited)
	here = here || ctx.Done() == nil
	n.mu.Lock()
	if !n.mayLeadLocked() || n.queue.length > 0 {
		r := n.request(ctx, cmd)
		n.queue.push(r)
		n.watchLocked()
		n.mu.Unlock()
		return n.await(ctx, r)
	}
	carried := !here && n.leaders == 0 && n.courier != nil && n.courier.takeLocked()
	n.leaders++
	t := n.departLocked(1)
	if here {
		n.mu.Unlock()
		return n.doHere(ctx, cmd, t)
	}
	r := n.request(ctx, cmd)
	b := batch{r.alone[:], t}
	if carried {
		n.mu.Unlock()
		return n.courier.do(ctx, b)
	}
	w := n.unparkLocked()
	n.mu.Unlock()
	n.handOver(w, b)
	return n.await(ctx, r)
}

// await waits for the end of r or of ctx.
func (n *node) await(ctx context.Context, r *request) error {
	select {
	case <-r.done:
		return n.reply(r)
	case <-ctx.Done():
		return n.leave(ctx, r)
	}
}

// reply is the error of a request that has ended, whose done has been received.
func (n *node) reply(r *request) error {
	cmd, raised := r.cmd, r.panic
	n.free(r)
	if raised != nil {
		panic(raised)
	}
	return cmd.Err()
}

// doHere runs cmd on the caller's goroutine, which leads meanwhile.
func (n *node) doHere(ctx context.Context, cmd redis.Cmder, t trip) error {
	var took time.Duration
	defer func() { // also when a hook of the client panics
		n.inFlight.Add(-1)
		n.passOn(t, took)
	}()
	began := time.Now()
	err := n.client.Process(ctx, cmd)
	took = n.note(began, err)
	return err
}

// leave is for a caller whose context has ended. A command that is still queued is taken out and was never
// sent.
func (n *node) leave(ctx context.Context, r *request) error {
	n.mu.Lock()
	if r.queued {
		n.queue.remove(r)
		n.mu.Unlock()
		n.free(r)
		return &outcome.Unsent{Err: ctx.Err()}
	}
	n.mu.Unlock()
	select {
	case <-r.done: // just in time
		return n.reply(r)
	default:
		if r.parted.Swap(true) {
			<-r.done // a hook has panicked, and its worker is about to say so
			return n.reply(r)
		}
		return &InFlight{cause: ctx.Err(), cmd: r.cmd, done: r.done}
	}
}

// passOn ends the lead of a caller, or hands it to a worker when something is queued: the caller has its
// reply and goes.
func (n *node) passOn(t trip, took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if b, more := n.nextLocked(t, took); more {
		n.handOver(n.unparkLocked(), b)
	}
}

// A batch is what leaves together. An empty one is for a worker that is to end.
type batch struct {
	requests []*request
	trip     trip
}

// raise has the first caller that has not left raise what a hook did, and gives the others an error.
func (b batch) raise(p *raise.Panic, d *Dispatcher) {
	raised := false
	for _, r := range b.requests {
		undone(r.cmd)
		if !raised && !r.parted.Swap(true) {
			r.panic, raised = p, true
		}
	}
	if !raised {
		d.stray(b.requests[0].ctx, p)
	}
}

// tell says to the callers that their commands have ended.
func (b batch) tell() {
	for _, r := range b.requests {
		r.done <- struct{}{} // from now on the request may be another caller's
	}
}

func (b batch) empty() bool { return len(b.requests) == 0 }

// nextLocked ends a leader's trip. It returns the next one, or ends the lead where nothing is queued, or
// where there are leaders enough without this one, as after a fall of the limit.
func (n *node) nextLocked(t trip, took time.Duration) (b batch, more bool) {
	n.landLocked(t, took)
	n.leaders--
	if more = n.queue.length > 0 && n.mayLeadLocked(); more {
		n.leaders++
		b = n.takeLocked()
	}
	n.recruitLocked()
	return b, more
}

// recruitLocked has workers lead what is queued, as far as there may be more leaders.
func (n *node) recruitLocked() {
	for n.queue.length > 0 && n.mayLeadLocked() {
		n.leaders++
		n.handOver(n.unparkLocked(), n.takeLocked())
	}
}

// takeLocked takes a leader's share of what is queued: all leaders together share what is queued and under
// way. A leader that took everything would come back with all the callers at once. The first of these would
// then leave one by one as the other leaders, and the rest in one batch behind them, and so on for ever.
func (n *node) takeLocked() batch {
	share := (int(n.inFlight.Load()) + n.queue.length + n.limit - 1) / n.limit
	count := min(share, n.queue.length, maxBatch)
	b := batch{trip: n.departLocked(count)}
	if count == 1 {
		b.requests = n.queue.shift().alone[:]
		return b
	}
	b.requests = make([]*request, count)
	for i := range b.requests {
		b.requests[i] = n.queue.shift()
	}
	return b
}

// note remembers that the server answered, and returns how long it took; 0 if it did not.
func (n *node) note(began time.Time, err error) time.Duration {
	if err != nil {
		return 0
	}
	took := time.Since(began)
	n.answered.Store(began.Add(took).UnixNano())
	return took
}

// send executes the batch and tells its callers, also when a hook of the client does not return. It returns
// how long the server took to answer. A hook that ends the goroutine ends a worker with it, whose lead is
// passed on.
func (n *node) send(b batch) (took time.Duration) {
	began := time.Now()
	err := errHook
	defer func() {
		gone := false
		if err == errHook {
			raised := raise.Caught(recover())
			gone = raised.Value == nil
			b.raise(raised, n.of)
		}
		took = n.note(began, err)
		n.inFlight.Add(int64(-b.trip.commands)) // before its callers queue their next commands, or they would count twice
		b.tell()
		if gone {
			n.passOn(b.trip, 0)
		}
	}()
	if len(b.requests) == 1 {
		r := b.requests[0]
		err = n.client.Process(context.WithoutCancel(r.ctx), r.cmd)
		return 0 // replaced above
	}
	pipe := n.client.Pipeline()
	for _, r := range b.requests {
		_ = pipe.Process(context.Background(), r.cmd)
	}
	err = Exec(context.Background(), pipe)
	return 0
}
