package sim

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/scripting"
)

// A world is what exists in one run.
type world struct {
	plan    Plan
	suite   Suite
	start   time.Time
	servers []*miniredis.Miniredis
	clients []*client
	admin   *client // whom nothing happens to

	mu      sync.Mutex
	records []history.Record
	queued  map[string]history.Time // when an owner was first seen in a queue
	kept    []any                   // holds stay reachable: the garbage collector lives outside of the bubble
	ghosts  int                     // requests that were executed long after their clients gave them up
	broken  []string                // what is wrong with the plan or the simulation itself
}

// A client is one simulated process.
type client struct {
	world   *world
	name    string
	network *network
	workers [][]Step
	*Actor  // its context ends when the process is killed
	end     context.CancelFunc

	mu   sync.Mutex
	dead bool
}

// servers is how many there are: the first has everything but redlocks, which stand on all.
const servers = 3

func newWorld(p Plan, suite Suite) *world {
	w := &world{plan: p, suite: suite, start: time.Now(), queued: map[string]history.Time{}}
	for range servers {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		w.servers = append(w.servers, m)
		if first, err := m.Dial(); err != nil {
			w.wrong("start a server: %v", err)
		} else {
			_ = first.Close()
		}
		scripting.Serve(m.Server())
	}
	w.admin = w.newClient("admin", Client{Timeout: 3 * time.Second}, 0)
	for i, c := range p.Clients {
		w.clients = append(w.clients, w.newClient(fmt.Sprintf("c%d", i), c, uint64(i+1)))
	}
	return w
}

func (w *world) newClient(name string, c Client, number uint64) *client {
	one := &client{world: w, name: name, workers: c.Workers}
	one.Actor = &Actor{
		Name: name, Objects: w.plan.Objects, Suite: w.suite, Now: w.now, Record: one.record, QueuedAt: w.queuedAt, Keep: w.keep, Wrong: w.wrong,
	}
	one.Context, one.end = context.WithCancel(context.Background())
	one.network = &network{seed: w.plan.Seed<<20 + number<<12, timeout: c.Timeout, tell: func(hindered bool) {
		what := history.Resume
		if hindered {
			what = history.Suspend
		}
		one.record(history.Record{What: what})
	}, ghost: one.haunt, belated: one.belated}
	protocol := 3
	if c.RESP2 {
		protocol = 2
	}
	for i, m := range w.servers {
		one.Redis = append(one.Redis, redis.NewClient(&redis.Options{
			Addr: fmt.Sprintf("server-%d", i), // nobody looks it up
			Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return one.network.dial(ctx, i, m)
			},
			Protocol: protocol, ReadTimeout: c.Timeout, DialTimeout: c.Timeout,
			// The client library keeps the timers with which it waits for a free connection for the whole process, and a
			// timer of one bubble panics in another. With this many connections nobody waits for one.
			PoolSize: 1000,
			// Looks up the host's name, which is real.
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}))
	}
	return one
}

func (w *world) now() history.Time { return history.Time(time.Since(w.start)) }

func (w *world) wrong(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

func (w *world) keep(hold any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, hold)
}

// write puts a record down as of now.
func (w *world) write(r history.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.At == 0 {
		r.At = w.now()
	}
	w.records = append(w.records, r)
}

// record puts down what a client has done or seen. The dead record nothing.
func (c *client) record(r history.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dead {
		r.Client = c.name
		c.world.write(r)
	}
}

// die ends the client's process, as far as anybody can see.
func (c *client) die(kind FaultKind) {
	c.record(history.Record{What: history.Kill})
	c.mu.Lock()
	c.dead = true
	c.mu.Unlock()
	c.network.suffer(fault{Kind: kind})
	c.end()
}

// haunt puts down that a request was executed which its client had given up long before. It may take an object for a
// lease, or a place in its queue for a patience: the library says so. It looks like a client that dies as it asks.
// Which request it was is not known: any that the client makes in this run.
func (c *client) haunt() {
	w := c.world
	for _, o := range w.plan.Objects {
		if mode(ways[o.Kind][0]) != history.Exclusive {
			continue
		}
		for _, thing := range o.Things() {
			lease := c.longest(o, thing)
			if lease == 0 {
				continue
			}
			w.mu.Lock()
			w.ghosts++
			name := fmt.Sprintf("ghost%d", w.ghosts)
			w.mu.Unlock()
			w.write(history.Record{What: history.Call, Client: name, Op: 1, Object: thing, Mode: history.Exclusive, Lease: lease})
			w.write(history.Record{What: history.Kill, Client: name})
		}
	}
}

// longest is how long a thing may be taken after the client has died; 0 if the client does not use it.
func (c *client) longest(o Object, thing string) (lease history.Time) {
	for _, steps := range c.workers {
		for _, s := range steps {
			if c.world.plan.Objects[s.Object].Name == o.Name && slices.Contains(s.things(o), thing) {
				lease = max(lease, s.longest())
			}
		}
	}
	return lease
}

// belated puts down that a request was executed late, or when its client was dead, for each thing that it
// names. One that is long is sent in parts, and its names may be in another one; then it may be for any
// thing.
func (c *client) belated(request []byte, sent time.Time) {
	var all, named []string
	for _, o := range c.world.plan.Objects {
		for _, thing := range o.Things() {
			all = append(all, thing)
			if bytes.Contains(request, []byte("\r\n"+thing+"\r\n")) || bytes.Contains(request, []byte("{"+thing+"}")) {
				named = append(named, thing)
			}
		}
	}
	if len(named) == 0 {
		named = all
	}
	for _, thing := range named {
		c.world.write(history.Record{What: history.Late, Client: c.name, Object: thing, From: history.Time(sent.Sub(c.world.start))})
	}
}

// watchQueues notes when an owner is first seen in the queue of a fair lock.
func (w *world) watchQueues(ctx context.Context) {
	var names []string
	for _, o := range w.plan.Objects {
		if o.Kind == Fair {
			names = append(names, "redisson_lock_queue:{"+o.Name+"}")
		}
	}
	for len(names) > 0 && sleep(ctx, 25*time.Millisecond) == nil {
		for _, name := range names {
			owners, _ := w.servers[0].List(name) // an error says that nobody waits
			w.mu.Lock()
			for _, owner := range owners {
				if w.queued[owner] == 0 {
					w.queued[owner] = w.now()
				}
			}
			w.mu.Unlock()
		}
	}
}

func (w *world) queuedAt(owner string) history.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued[owner]
}

// Things are the names under which an object is judged: a multi-lock is its members, a group its values.
func (o Object) Things() []string {
	if o.Kind == Multi || o.Kind == Group {
		return []string{o.Name + "a", o.Name + "b"}
	}
	return []string{o.Name}
}

// leftovers are the keys that should be gone when everything is over.
func (w *world) leftovers() (left []string) {
	for i, m := range w.servers {
		for _, key := range m.Keys() {
			// The entry of a client that died, or whose last command was lost, goes with its lease and ten minutes.
			listed := strings.HasPrefix(key, "redlatch_client") && m.TTL(key) > 0
			if !listed && !w.stays(key) {
				left = append(left, fmt.Sprintf("%s on server %d", key, i))
			}
		}
	}
	slices.Sort(left)
	return left
}

// stays tells whether a key may be there for good, or for longer than a run: values, tokens, and records of latches.
func (w *world) stays(key string) bool {
	if strings.HasPrefix(key, "redisson_lock_token:") || strings.HasPrefix(key, "redlatch_guard") || strings.HasSuffix(key, "}:data") || strings.HasPrefix(key, "redlatch_latch:") {
		return true
	}
	killed := w.ghosts > 0 || slices.ContainsFunc(w.clients, func(c *client) bool { return c.dead })
	return slices.ContainsFunc(w.plan.Objects, func(o Object) bool {
		if (o.Kind == Fair || o.Mixed) && killed && strings.HasSuffix(key, "{"+o.Things()[len(o.Things())-1]+"}") { // goes when the lock is used again
			return true
		}
		return (o.Kind == Semaphore || o.Kind == Permits || o.Kind == Latch) && strings.Contains(key, o.Name)
	})
}

func (w *world) close() {
	for _, c := range append(w.clients, w.admin) {
		c.end()
		for _, r := range c.Redis {
			_ = r.Close()
		}
		c.network.close()
	}
	for _, m := range w.servers {
		m.Close()
	}
	// Each hold was released or left. What the library keeps for a client lasts for as long as the client is reachable, or
	// anything made with it; and the client's dialer reaches this world.
	w.mu.Lock()
	w.kept = nil
	w.mu.Unlock()
}
