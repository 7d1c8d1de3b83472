package interop_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// shortWatchdog is the watchdog timeout of both sides where a test waits for several of its periods. A third of it is
// what a machine with two cores may stand still for before a lock is lost.
const shortWatchdog = 3 * time.Second

var (
	actors atomic.Int64 // numbers the actors and names of this run
	cases  atomic.Int64 // counts the cases that were run
)

// A world is one Redis set-up with clients of both sides.
type world struct {
	client   redis.UniversalClient
	goClient redlatch.Client                        // what Go actors use: client, or the several of a Redlock
	another  func(testing.TB) redis.UniversalClient // makes one beside it
	nodes    []*redis.Client                        // those that have keys
	shards   bool                                   // messages are sharded
	opts     []redlatch.Option
	config   fields // how Redisson finds the servers

	jvm         *jvm
	long, short string // names of the Redisson clients: with the usual watchdog timeout, and with the short one

	longs, shorts []string // those of a Redlock
}

func singleWorld(t *testing.T) *world {
	t.Helper()
	srv := redistest.Process(t)
	another := func(tb testing.TB) redis.UniversalClient { return srv.Client(tb) }
	return openWorld(t, &world{client: srv.Client(t), another: another, nodes: []*redis.Client{srv.Client(t)}},
		fields{"mode": "single", "addresses": []string{"redis://" + srv.Addr}})
}

func clusterWorld(t *testing.T) *world {
	t.Helper()
	servers := redistest.Cluster(t, 3, 0)
	another := func(tb testing.TB) redis.UniversalClient { return servers.Client(tb) }
	w := &world{client: servers.Client(t), another: another, shards: true}
	for i := range 3 {
		w.nodes = append(w.nodes, servers.Node(i).Client(t))
	}
	var addresses []string
	for _, addr := range servers.Addrs() {
		addresses = append(addresses, "redis://"+addr)
	}
	return openWorld(t, w, fields{"mode": "cluster", "addresses": addresses})
}

func sentinelWorld(t *testing.T) *world {
	t.Helper()
	servers := redistest.Sentinel(t)
	var addresses []string
	for _, addr := range servers.Addrs() {
		addresses = append(addresses, "redis://"+addr)
	}
	another := func(tb testing.TB) redis.UniversalClient { return servers.Client(tb) }
	w := &world{client: servers.Client(t), another: another, nodes: []*redis.Client{servers.Master.Client(t)}}
	return openWorld(t, w, fields{"mode": "sentinel", "addresses": addresses, "master": servers.MasterName})
}

// openWorld opens the Redisson clients. They are told to use a string codec, without which the fields of a group
// multi-lock are Java's alone.
func openWorld(t *testing.T, w *world, config fields) *world {
	t.Helper()
	w.jvm, w.config, w.goClient = redisson.start(t), config, w.client
	w.opts = []redlatch.Option{
		briefly.Linger(500 * time.Millisecond),
		redlatch.WithLogger(slog.New(slog.DiscardHandler)), // of losses, and of holds that a case left to their leases
	}
	number := actors.Add(1)
	w.long, w.short = fmt.Sprintf("long%d", number), fmt.Sprintf("short%d", number)
	w.openClient(t, config, fields{"client": w.long})
	w.openClient(t, config, fields{"client": w.short, "watchdog": shortWatchdog.Milliseconds()})
	return w
}

func (w *world) openClient(t *testing.T, config, more fields) {
	t.Helper()
	command := fields{"op": "open", "codec": "string"}
	for _, source := range []fields{config, more} {
		for name, value := range source {
			command[name] = value
		}
	}
	var uuid string
	require.NoError(t, w.jvm.call(command, &uuid))
	require.Len(t, uuid, 36)
	require.Equal(t, "4", uuid[14:15], "the version, by which ours are told from Redisson's")
	t.Cleanup(func() { // before the servers go, or Redisson would look for them
		require.NoError(t, w.jvm.call(fields{"op": "close", "client": command["client"]}, nil))
	})
}

// object makes an object that nothing else uses.
func (w *world) object(kind string) object { return w.objectNamed(kind, "it-%d-x") }

// objectNamed makes one whose name has this form; %d stands for a number.
func (w *world) objectNamed(kind, form string) object {
	o := object{kind: kind, name: fmt.Sprintf(form, actors.Add(1))}
	switch kind {
	case "multi":
		for i := range 3 {
			o.names += fmt.Sprintf(" %s:%d", o.name, i)
		}
	case "group":
		o.names = "Jack_001 Mary_002"
	}
	o.names = strings.TrimSpace(o.names)
	return o
}

// awaitWaiter returns when somebody listens on a channel of the object, which is when its wait has begun. Lingering
// subscriptions of earlier waits would be taken for it, so a name is used for one wait.
func (w *world) awaitWaiter(t *testing.T, o object) {
	t.Helper()
	w.awaitListeners(t, o, 1)
}

// awaitSleeper is awaitWaiter for one who waits for the message of a writer. Redisson's waiters hear it only while they
// sleep, not in the moment between asking in vain and going to sleep.
func (w *world) awaitSleeper(t *testing.T, o object, waiter actor) {
	t.Helper()
	w.awaitWaiter(t, o)
	java, is := waiter.(*javaActor)
	if !is || o.kind != "read" && o.kind != "write" {
		return
	}
	eventually(t, "it sleeps", func() bool {
		var sleeps bool
		require.NoError(t, java.jvm.call(fields{"op": "sleeps", "thread": java.thread}, &sleeps))
		return sleeps
	})
}

func (w *world) awaitListeners(t *testing.T, o object, n int) {
	t.Helper()
	if o.kind == "spin" { // listens to nothing: it polls, at once and then often
		time.Sleep(200 * time.Millisecond)
		return
	}
	eventually(t, "a subscription", func() bool { return w.listeners(t, o) >= n })
}

// listeners is how many subscriptions there are to channels of the object, over all connections.
func (w *world) listeners(t *testing.T, o object) (n int) {
	t.Helper()
	ctx := context.Background()
	pattern := "*" + o.name + "*"
	if o.kind == "permits" || o.kind == "semaphore" || o.kind == "latch" {
		pattern = "*" + o.name + "}*"
	}
	for _, node := range w.nodes {
		channels, err := node.PubSubChannels(ctx, pattern).Result()
		require.NoError(t, err)
		count := node.PubSubNumSub
		if w.shards {
			channels, err = node.PubSubShardChannels(ctx, pattern).Result()
			require.NoError(t, err)
			count = node.PubSubShardNumSub
		}
		if len(channels) == 0 {
			continue
		}
		subscribers, err := count(ctx, channels...).Result()
		require.NoError(t, err)
		for _, number := range subscribers {
			n += int(number)
		}
	}
	return n
}

// keys are those with the object's name in theirs, without what both sides keep for themselves for a short while: the
// record of an unlock that Java deletes behind its answer, the memory of Go's operations on counters, and of how a latch
// ended. Nor is Go's list of its readers among them.
func (w *world) keys(t *testing.T, o object) (keys []string) {
	t.Helper()
	for _, node := range w.nodes {
		all, err := node.Keys(context.Background(), "*").Result()
		require.NoError(t, err)
		for _, key := range all {
			if strings.Contains(key, o.name) && !strings.HasPrefix(key, "redisson_unlock_latch:") && !strings.HasPrefix(key, "redlatch_lanes:") &&
				!strings.HasPrefix(key, "redlatch_latch:") && !strings.HasPrefix(key, "redlatch_rwlock_readers:") {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// start runs fn on a goroutine of its own; what it returned comes on the channel.
func start(fn func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	return done
}

func await(t *testing.T, what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		require.NoError(t, err, what)
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
	}
}
