package dispatch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/outcome"
)

const (
	maxLeaders = 4   // commands or pipelines under way at once; more would wait for the same server
	maxBatch   = 256 // commands in one pipeline, so that the first reply is not held up by the last command
)

// A node is the way to one server: a queue, and the leaders that are under way.
type node struct {
	client Client
	linger func() time.Duration

	answered atomic.Int64 // when the server last executed something, in Unix nanoseconds

	mu      sync.Mutex
	leaders int
	queue   []*request
	idle    []*worker // parked, the most recently used last
	sweeps  uint64    // how often the idle ones were looked through
	planned bool      // the next sweep is

	express   *express // for a caller that is alone; nil when it has not been asked for lately
	noExpress bool     // the system has none to give

	// spare has requests that are over. It is the node's own: a channel made in a bubble of testing/synctest must not
	// turn up outside, where the runtime ends the process for it.
	spare sync.Pool
}

// A request is one caller's command.
type request struct {
	ctx   context.Context // not cancellable; carries the caller's values to the client's hooks
	cmd   redis.Cmder
	done  chan struct{} // receives once, when the command has ended
	back  *event        // set after done, for a caller that waits for both; nil for the others
	taken bool          // left the queue; guarded by node.mu
}

func (n *node) request(ctx context.Context, cmd redis.Cmder) *request {
	r, _ := n.spare.Get().(*request)
	if r == nil {
		r = &request{done: make(chan struct{}, 1)}
	}
	r.ctx, r.cmd, r.back, r.taken = ctx, cmd, nil, false
	return r
}

// free takes back a request whose done has been received, or that never left.
func (n *node) free(r *request) {
	r.ctx, r.cmd, r.back = nil, nil, nil
	n.spare.Put(r)
}

func (n *node) do(ctx context.Context, cmd redis.Cmder) error {
	if ctx.Done() == nil {
		return n.doHere(ctx, cmd)
	}
	r := n.request(context.WithoutCancel(ctx), cmd)
	n.mu.Lock()
	if n.leaders < maxLeaders && len(n.queue) == 0 {
		var x *express
		if n.leaders == 0 {
			x = n.expressLocked()
		}
		n.leaders++
		r.taken = true
		if x != nil {
			n.mu.Unlock()
			return x.do(ctx, r)
		}
		w := n.unparkLocked()
		n.mu.Unlock()
		n.handOver(w, batch{one: r})
	} else {
		n.queue = append(n.queue, r)
		n.mu.Unlock()
	}
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
	cmd := r.cmd
	n.free(r)
	return cmd.Err()
}

// doHere runs cmd on the caller's goroutine, or lets a leader take it along.
func (n *node) doHere(ctx context.Context, cmd redis.Cmder) error {
	n.mu.Lock()
	if n.leaders < maxLeaders && len(n.queue) == 0 {
		n.leaders++
		n.mu.Unlock()
		defer n.passOn() // also when a hook of the client panics
		err := n.client.Process(ctx, cmd)
		n.note(err)
		return err
	}
	r := n.request(ctx, cmd)
	n.queue = append(n.queue, r)
	n.mu.Unlock()
	<-r.done
	return n.reply(r)
}

// leave is for a caller whose context has ended. A command that is still queued is taken out and was never sent.
func (n *node) leave(ctx context.Context, r *request) error {
	n.mu.Lock()
	if !r.taken {
		n.queue = slices.DeleteFunc(n.queue, func(q *request) bool { return q == r })
		n.mu.Unlock()
		n.free(r)
		return &outcome.Unsent{Err: ctx.Err()}
	}
	n.mu.Unlock()
	select {
	case <-r.done: // just in time
		return n.reply(r)
	default:
		return &InFlight{cause: ctx.Err(), cmd: r.cmd, done: r.done}
	}
}

// passOn ends the lead of a caller, or hands it to a worker when something is queued: the caller has its reply and
// goes.
func (n *node) passOn() {
	n.mu.Lock()
	b, ok := n.takeLocked()
	if !ok {
		n.leaders--
		n.mu.Unlock()
		return
	}
	w := n.unparkLocked()
	n.mu.Unlock()
	n.handOver(w, b)
}

// A batch is what leaves together. The lone request, the common case, needs no slice.
type batch struct {
	one  *request
	many []*request
}

func (b batch) empty() bool { return b.one == nil && b.many == nil }

// takeLocked takes what is queued, up to a full pipeline.
func (n *node) takeLocked() (batch, bool) {
	switch count := len(n.queue); {
	case count == 0:
		return batch{}, false
	case count == 1:
		r := n.queue[0]
		r.taken = true
		n.queue[0] = nil
		n.queue = n.queue[:0]
		return batch{one: r}, true
	default:
		count = min(count, maxBatch)
		many := slices.Clone(n.queue[:count])
		for _, r := range many {
			r.taken = true
		}
		n.queue = slices.Delete(n.queue, 0, count)
		return batch{many: many}, true
	}
}

// note remembers that the server answered.
func (n *node) note(err error) {
	if err == nil {
		n.answered.Store(time.Now().UnixNano())
	}
}

// send executes the batch and tells its callers.
func (n *node) send(b batch) {
	if b.one != nil {
		r := b.one
		n.note(n.client.Process(r.ctx, r.cmd))
		back := r.back // r may be somebody else's as soon as its caller knows
		r.done <- struct{}{}
		if back != nil {
			back.set()
		}
		return
	}
	ctx := context.Background()
	pipe := n.client.Pipeline()
	for _, r := range b.many {
		_ = pipe.Process(ctx, r.cmd)
	}
	_, err := pipe.Exec(ctx) // the first; every command has its own
	n.note(err)
	for _, r := range b.many {
		r.done <- struct{}{}
	}
}
