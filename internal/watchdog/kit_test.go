package watchdog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/internal/watchdog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The numbers of a hold that the watchdog keeps with defaults.
const (
	lease  = 30 * time.Second
	every  = 10 * time.Second
	margin = 300 * time.Millisecond
	trust  = lease - margin
)

var errDown = errors.New("connection refused")

// An owner notes what it is told.
type owner struct {
	watchdog.Ticket
	batch   watchdog.Batch
	onBatch func()
	onLost  func()

	mu     sync.Mutex
	losses []loss
}

type loss struct {
	at     time.Duration // since the start of the test
	reason string
	cause  error
}

var started sync.Map // *owner to the time its test started

func (o *owner) Batch() watchdog.Batch {
	if o.onBatch != nil {
		o.onBatch()
	}
	return o.batch
}

func (o *owner) Lost(reason string, cause error) {
	if o.onLost != nil {
		o.onLost()
	}
	start, _ := started.Load(o)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.losses = append(o.losses, loss{time.Since(start.(time.Time)), reason, cause})
}

func (o *owner) lost() []loss {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]loss(nil), o.losses...)
}

// A call is one script of a call of Send, with moments counted from the start of the test.
type call struct {
	at     time.Duration
	batch  watchdog.Batch
	owners []*owner
	leases []time.Duration
	ended  time.Duration // when its context ended, or -1
}

// A world is a watchdog, a clock that starts at 0 and a server that notes each script, answering each by itself. Its
// answer says yes to all unless a test sets another one; n counts calls from 1.
type world struct {
	t      *testing.T
	dog    *watchdog.Watchdog
	start  time.Time
	answer func(ctx context.Context, n int, c *call) ([]bool, error)

	sends atomic.Int64 // calls of Send

	mu    sync.Mutex
	calls []*call
}

// inBubble runs test on fake time and checks that the watchdog comes to rest once everything is forgotten or lost.
func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, start: time.Now()}
		w.dog = watchdog.New(w.send)
		test(t, w)
		time.Sleep(watchdog.Rest)
		synctest.Wait()
		require.True(t, w.dog.AtRest(), "something is still kept, or the timer is still armed")
	})
}

func (w *world) send(ctx context.Context, due []watchdog.Script, answer func(int, []bool, error)) {
	w.sends.Add(1)
	var scripts sync.WaitGroup
	for i, s := range due {
		scripts.Go(func() {
			alive, err := w.script(ctx, s.Batch, s.Tickets)
			answer(i, alive, err)
		})
	}
	scripts.Wait()
}

func (w *world) script(ctx context.Context, b watchdog.Batch, tickets []*watchdog.Ticket) ([]bool, error) {
	c := &call{at: w.now(), batch: b, ended: -1}
	for _, t := range tickets {
		c.owners = append(c.owners, t.Owner().(*owner))
		c.leases = append(c.leases, t.Lease(time.Now()))
	}
	w.mu.Lock()
	w.calls = append(w.calls, c)
	n := len(w.calls)
	w.mu.Unlock()
	ended := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.ended < 0 {
			c.ended = w.now()
		}
	}
	stop := context.AfterFunc(ctx, ended)
	defer func() {
		if stop() && ctx.Err() != nil {
			ended() // the answer overtook AfterFunc
		}
	}()
	if w.answer == nil {
		return all(true, len(tickets)), nil
	}
	return w.answer(ctx, n, c)
}

func (w *world) now() time.Duration { return time.Since(w.start) }

// until advances the clock to a moment and lets everything that happens at it happen.
func (w *world) until(at time.Duration) {
	w.t.Helper()
	require.GreaterOrEqual(w.t, at, w.now(), "the test goes back in time")
	time.Sleep(at - w.now())
	synctest.Wait()
}

func (w *world) owner(shard int) *owner {
	o := &owner{batch: watchdog.Batch{Kind: "lock", Shard: shard}}
	started.Store(o, w.start)
	w.t.Cleanup(func() { started.Delete(o) })
	return o
}

// renewed are the terms of a hold acquired just now.
func (w *world) renewed() watchdog.Terms {
	return watchdog.Terms{Lease: lease, Every: every, Margin: margin, Trusted: time.Now().Add(trust)}
}

// checked are the terms of a fixed lease that begins now, long enough to be checked.
func (w *world) checked(d time.Duration) watchdog.Terms {
	return watchdog.Terms{Every: every, Margin: margin, Trusted: time.Now().Add(d - margin)}
}

func (w *world) keep(o *owner, terms watchdog.Terms) { w.dog.Keep(&o.Ticket, o, terms) }
func (w *world) forget(owners ...*owner) {
	for _, o := range owners {
		w.dog.Forget(&o.Ticket)
	}
}

// trusted is the end of trust, counted from the start.
func (w *world) trusted(o *owner) time.Duration { return o.TrustedUntil().Sub(w.start) }

// sent lists the moments of the calls so far.
func (w *world) sent() (moments []time.Duration) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		moments = append(moments, c.at)
	}
	return moments
}

func (w *world) call(n int) call {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.calls[n-1]
}

func all(v bool, n int) []bool {
	s := make([]bool, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// hang is a call that is never answered; its goroutine ends with its context.
func hang(ctx context.Context) ([]bool, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// deaf is a call that pays no heed to its context and answers at a moment of its own.
func (w *world) deaf(at time.Duration, alive []bool, err error) ([]bool, error) {
	time.Sleep(at - w.now())
	return alive, err
}

// sec makes moments from seconds.
func sec(seconds ...float64) (moments []time.Duration) {
	for _, s := range seconds {
		moments = append(moments, time.Duration(s*float64(time.Second)))
	}
	return moments
}

func nth(n int) error { return fmt.Errorf("try %d: %w", n, errDown) }
