package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A mode is what happens beside the calls of a round.
type mode int

const (
	calm   mode = iota // nothing
	beside             // a lock of another name is taken away by force, again and again
	forced             // what the calls want is, by a third client and by one of the two; nothing is witnessed
	doubt              // replies are lost, connections end
)

func (m mode) String() string { return [...]string{"calm", "beside", "forced", "doubt"}[m] }

// forceEvery is how often something is taken away.
const forceEvery = 150 * time.Millisecond

// A world is the servers and clients of one round, and what is noted in it.
type world struct {
	t       *testing.T
	mode    mode
	servers []*redistest.Server
	clients [3][]*redis.Client // of each process, one for each server; the last process only takes away
	session map[*redis.Client]*session.Session
	proxies []*faultproxy.Proxy
	watch   *watch
	name    string // what the primitive is called
	over    atomic.Bool
	rush    atomic.Int32 // 1 or 2: for now all goroutines use a name that only that process uses, without options, as fast as they can
	calls   atomic.Int64 // that have taken what they wanted

	mu       sync.Mutex
	wrong    map[string]int
	sections map[string]*section // of the names that come and go
	born     int
}

// newWorld has n servers.
func newWorld(t *testing.T, m mode, n int) *world {
	w := &world{t: t, mode: m, wrong: map[string]int{}, session: map[*redis.Client]*session.Session{}, sections: map[string]*section{}}
	for range n {
		w.servers = append(w.servers, server(t))
	}
	w.name = w.servers[0].Key(t, "main")
	for process := range w.clients {
		for _, srv := range w.servers {
			client, set := w.client(srv, process < 2), settings.Defaults()
			w.clients[process] = append(w.clients[process], client)
			w.session[client] = session.Of(client, &set)
		}
	}
	w.watch = &watch{control: w.client(w.servers[0], false), stalled: make(chan string, 1)}
	w.watch.bounds = bounds{client: 100, call: 600}
	if m == doubt { // an outage is waited out for ten seconds, a release tried for five
		w.watch.bounds = bounds{client: 500, call: 1200}
	}
	return w
}

// server is a real one where there is one.
func server(t *testing.T) *redistest.Server {
	if real() {
		return redistest.Real(t)
	}
	return redistest.Mini(t)
}

// client gives a machine that is busy all the time that it needs, except where replies are lost.
func (w *world) client(srv *redistest.Server, faulty bool) *redis.Client {
	return srv.Client(w.t, func(o *redis.Options) {
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = time.Minute, time.Minute, time.Minute, time.Minute
		o.PoolSize = 10
		if faulty && w.mode == doubt {
			proxy := faultproxy.New(w.t, srv.Addr)
			w.proxies = append(w.proxies, proxy)
			o.Addr, o.ReadTimeout = proxy.Addr(), 300*time.Millisecond
		}
	})
}

// of is the clients of a process as the primitives take them.
func (w *world) of(process int) (clients []redlatch.Client) {
	for _, c := range w.clients[process] {
		clients = append(clients, c)
	}
	return clients
}

// complain notes what is wrong, for the end of the round. It may be called by any goroutine.
func (w *world) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong[fmt.Sprintf(format, args...)]++
}

// lone is the name that a process has for itself.
func (w *world) lone(process int) string { return fmt.Sprint(w.name, " of process ", process) }

// passing is a name that exists for a while, and its section.
func (w *world) passing() (string, *section) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.born++
	name := fmt.Sprintf("%s.%d", w.name, w.born/20)
	if w.sections[name] == nil {
		w.sections[name] = &section{world: w}
	}
	return name, w.sections[name]
}

// defaults are the options of every primitive that has a client.
func (w *world) defaults() []redlatch.Option {
	return append(w.patience(), briefly.Linger(20*time.Millisecond))
}

// patience gives a busy machine the time that it needs.
func (w *world) patience() []redlatch.Option {
	if w.mode == doubt {
		return nil
	}
	return []redlatch.Option{redlatch.WithOutage(time.Minute), redlatch.WithReleaseTimeout(time.Minute)}
}

// roll is a number below n.
func (w *world) roll(n int) int { return rand.IntN(n) }

// A goroutine makes calls for one of two processes.
type goroutine struct {
	*caller
	world  *world
	number int // from 1
	dice   *rand.Rand
	client int  // the process that it works for
	rushes bool // all do
}

// one is true once in n times.
func (g *goroutine) one(n int) bool { return g.dice.IntN(n) == 0 }

// special is one for what a call in a rush leaves out.
func (g *goroutine) special(n int) bool { return !g.rushes && g.one(n) }

// up is a duration up to d.
func (g *goroutine) up(d time.Duration) time.Duration {
	return time.Duration(g.dice.Int64N(int64(d))) + time.Microsecond
}

// bounded is a context that may end soon, by a deadline or because it is cancelled.
func (g *goroutine) bounded() (ctx context.Context, ends bool, stop func()) {
	if g.rushes {
		return context.Background(), false, func() {}
	}
	switch g.dice.IntN(10) {
	case 0:
		ctx, cancel := context.WithTimeout(context.Background(), g.up(3*time.Millisecond))
		return ctx, true, cancel
	case 1:
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(g.up(3*time.Millisecond), cancel)
		return ctx, true, func() { timer.Stop(); cancel() }
	}
	return context.Background(), false, func() {}
}

// judge notes an error that a call must not return. Those of allowed are fine; so is what the mode explains.
func (g *goroutine) judge(what string, err error, allowed ...error) {
	switch m := g.world.mode; {
	case m == forced:
		allowed = append(allowed, redlatch.ErrLost, redlatch.ErrNotHeld, redlatch.ErrUnavailable)
	case m == doubt:
		allowed = append(allowed, redlatch.ErrUnavailable, redlatch.ErrUncertain)
	}
	if err == nil || slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }) {
		return
	}
	text, name := err.Error(), g.world.name
	g.world.complain("%s: %s", what, strings.ReplaceAll(text, name, "NAME"))
}

// run has goroutines act until the round is over, and looks at what they leave.
func (w *world) run(k kind, d time.Duration) {
	k.setUp(w)
	for i := range k.goroutines {
		w.watch.calls = append(w.watch.calls, &caller{})
		w.watch.calls[i].began.Store(-1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching, beside, acting sync.WaitGroup
	watching.Go(func() { w.watch.run(ctx) })
	w.disturb(k, &beside, d)
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	for i, c := range w.watch.calls {
		g := &goroutine{caller: c, world: w, number: i + 1, dice: rand.New(rand.NewPCG(first, uint64(i)))}
		acting.Go(func() {
			for !w.over.Load() {
				g.client = i % 2
				rush := w.rush.Load()
				if g.rushes = rush > 0; g.rushes {
					g.client = int(rush) - 1
				}
				g.caller.client.Store(int32(g.client))
				k.act(g)
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		time.Sleep(d)
		for late := time.Now().Add(time.Minute); w.calls.Load() == 0 && time.Now().Before(late); { // on a busy machine
			time.Sleep(time.Millisecond)
		}
		w.over.Store(true)
		beside.Wait()
		w.heal()
		acting.Wait()
		close(ended)
	}()
	select {
	case what := <-w.watch.stalled:
		cancel()
		w.report()
		w.t.Fatalf("after %d acquisitions, seed %d: %s", w.calls.Load(), first, what)
	case <-ended:
	}
	cancel()
	watching.Wait()
	w.report()
	w.t.Logf("%d acquisitions, seed %d", w.calls.Load(), first)
	if !w.t.Failed() && w.calls.Load() == 0 {
		w.t.Error("nothing was acquired")
	}
}

// report tells the test what was noted.
func (w *world) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, times := range w.wrong {
		w.t.Errorf("%d times: %s", times, what)
	}
}

// disturb does what the mode says, until the round is over.
func (w *world) disturb(k kind, running *sync.WaitGroup, d time.Duration) {
	every := min(forceEvery, d/4)
	during := func(pause time.Duration, do func(i int)) {
		running.Go(func() {
			for i := 0; !w.over.Load(); i++ {
				do(i)
				time.Sleep(pause)
			}
		})
	}
	during(100*time.Millisecond, func(int) { runtime.GC() })
	during(min(d/6, time.Second), func(i int) { w.rush.Store(int32(i % 3)) })
	switch w.mode {
	case beside:
		during(every, func(i int) {
			other := rlock.New(w.clients[i%2][0], w.name+" beside", w.defaults()...)
			if _, err := other.ForceUnlock(context.Background()); err != nil {
				w.complain("ForceUnlock of another name: %v", err)
			}
		})
	case forced:
		during(every, func(i int) {
			if err := k.force(w, 2*(i%2)); err != nil {
				w.complain("by force: %v", err)
			}
		})
	case doubt:
		w.harm(during)
	}
}

// harm has commands of the two processes lose their replies, or their connections.
func (w *world) harm(during func(pause time.Duration, do func(i int))) {
	actions := []faultproxy.Action{
		faultproxy.DropReply, faultproxy.HalfReply, faultproxy.CloseAfter, faultproxy.ResetAfter, faultproxy.CloseBefore,
		faultproxy.DropRequest, faultproxy.SplitReply, faultproxy.Delay(20 * time.Millisecond),
	}
	for _, proxy := range w.proxies {
		during(30*time.Millisecond, func(i int) {
			switch {
			case i%20 == 19:
				proxy.CutAll()
			case i%10 == 9:
				proxy.DropMessages(i%20 == 9)
			default:
				rule := proxy.On(faultproxy.Named("EVALSHA", "EVAL"), 1, actions[rand.IntN(len(actions))])
				time.Sleep(10 * time.Millisecond)
				rule.Remove()
			}
		})
	}
}

// heal ends the harm.
func (w *world) heal() {
	for _, proxy := range w.proxies {
		proxy.DropMessages(false)
		proxy.Heal()
	}
}

// eventually waits for what the library does in the background, in the time of the control.
func (w *world) eventually(what string, is func() (string, bool)) {
	start := time.Now()
	said, ok := is()
	last := said
	for i := 0; !ok && i < 3000; i++ {
		time.Sleep(controlEvery)
		if err := w.watch.control.Ping(context.Background()).Err(); err != nil {
			w.t.Fatal(err)
		}
		if said, ok = is(); !ok {
			last = said
		}
	}
	switch d := time.Since(start).Round(100 * time.Millisecond); {
	case !ok:
		w.t.Errorf("%s after %v: %s", what, d, said)
	case d > time.Second:
		w.t.Logf("for %v %s: %s", d, what, last)
	}
}

// nothingStays looks at what a round has left.
func (w *world) nothingStays(k kind) {
	k.tearDown(w)
	w.eventually("keys are left", func() (string, bool) {
		var left []string
		for _, srv := range w.servers {
			left = append(left, slices.DeleteFunc(srv.Keys(w.t), stays)...)
		}
		return fmt.Sprint(left), len(left) == 0
	})
	for process := range w.clients {
		for _, client := range w.clients[process] {
			w.eventually("a session is not empty", func() (string, bool) {
				left := remains(w.session[client])
				return fmt.Sprint(left), len(left) == 0
			})
		}
	}
}

// stays tells of a key whether docs/guarantees.md says that it may stay.
func stays(key string) bool {
	return slices.ContainsFunc([]string{
		"redisson_lock_token:", // the counter of a fenced lock
		"redlatch_lanes:",      // two and a half minutes
		"redlatch_latch:",      // how a latch has ended, a day
		"redlatch_client",      // entries of the registry
	}, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}
