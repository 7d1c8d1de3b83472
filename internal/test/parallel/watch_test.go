package parallel_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A watch finds out that calls stand still. It measures time in rounds of a control: the server answers a PING on a connection
// of its own, and a goroutine gets a processor for a while. On a machine that is busy, suspended or slow a round lasts longer.
type watch struct {
	control *redis.Client
	calls   []*caller
	bounds  bounds

	rounds  atomic.Int64
	stalled chan string // of one: what stands still, with the stacks of all goroutines
}

// bounds are the numbers of rounds after which something stands still.
type bounds struct {
	client int64 // no call of a client has ended
	call   int64 // a call has not ended
}

// controlEvery is the pause between two rounds of the control, which themselves take some milliseconds.
const controlEvery = 50 * time.Millisecond

// A caller is a goroutine that makes calls, as the watch sees it.
type caller struct {
	client atomic.Int32
	began  atomic.Int64 // the round in which its call began; -1 between two calls
	ended  atomic.Int64 // the round in which its last call ended
	what   atomic.Pointer[string]
}

// call makes one call under the watch.
func (w *watch) call(c *caller, what string, do func()) {
	c.what.Store(&what)
	c.began.Store(w.rounds.Load())
	do()
	c.ended.Store(w.rounds.Load())
	c.began.Store(-1)
}

// run watches until ctx ends.
func (w *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(controlEvery)
		if w.control.Ping(ctx).Err() != nil {
			continue // the server is no control then
		}
		spun := make(chan struct{})
		go func() {
			defer close(spun)
			spin()
		}()
		<-spun
		w.rounds.Add(1)
		if what := w.still(); what != "" {
			var stacks bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			w.stalled <- fmt.Sprintf("%s\n\nall goroutines:\n%s", what, &stacks)
			return
		}
	}
}

var spun atomic.Uint64

// spin takes about a millisecond of a processor.
func spin() {
	x := uint64(1)
	for range 1_000_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	spun.Add(x)
}

// still says what stands still, or nothing.
func (w *watch) still() string {
	now := w.rounds.Load()
	last, busy := map[int]int64{}, map[int]string{}
	for i, c := range w.calls {
		client := int(c.client.Load())
		last[client] = max(last[client], c.ended.Load())
		began := c.began.Load()
		if began < 0 {
			continue
		}
		busy[client] = *c.what.Load()
		if now-began > w.bounds.call {
			return fmt.Sprintf("a call of client %d (goroutine %d: %s) has not ended in %d rounds of the control", client, i, busy[client], now-began)
		}
	}
	for client, what := range busy {
		if since := now - last[client]; since > w.bounds.client {
			return fmt.Sprintf("no call of client %d has ended in %d rounds of the control; one of them is %s", client, since, what)
		}
	}
	return ""
}
