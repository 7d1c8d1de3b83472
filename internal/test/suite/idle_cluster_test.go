package suite_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/rlock"
)

// A tally is a hook that counts what leaves for the nodes of a cluster.
type tally struct {
	scripts, trips atomic.Int64
}

func (c *tally) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.note([]redis.Cmder{cmd})
		return next(ctx, cmd)
	}
}

func (c *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.note(cmds)
		return next(ctx, cmds)
	}
}

func (c *tally) note(cmds []redis.Cmder) {
	scripts := 0
	for _, cmd := range cmds {
		if cmd.Name() == "evalsha" || cmd.Name() == "eval" {
			scripts++
		}
	}
	if scripts > 0 {
		c.scripts.Add(int64(scripts))
		c.trips.Add(1)
	}
}

func TestOnAClusterHoldsCostAScriptPerSlotAndFewRoundTrips(t *testing.T) {
	const n, masters, timeout, period = 3_000, 3, 6 * time.Second, 2 * time.Second
	cluster := redistest.Cluster(t, masters, 0)
	var sent tally
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) {
		o.NewClient = func(o *redis.Options) *redis.Client {
			node := redis.NewClient(o)
			node.AddHook(&sent)
			return node
		}
	})
	holds, slots := make([]*redlatch.Hold, n), map[int]bool{}
	for i := range n {
		slots[keys.Slot(fmt.Sprint("held", i))] = true
	}
	among(t, n, func(i int) (err error) {
		holds[i], err = rlock.New(rdb, fmt.Sprint("held", i), redlatch.WithWatchdogTimeout(timeout)).Lock(t.Context())
		return err
	})
	taken := sent.scripts.Load()
	await(t, "a renewal of everything", func() bool { return sent.scripts.Load() >= taken+int64(len(slots)) })
	goroutines := runtime.NumGoroutine()

	start, scripts, trips := time.Now(), sent.scripts.Load(), sent.trips.Load()
	time.Sleep(5 * period / 2)
	elapsed := time.Since(start)
	scripts, trips = sent.scripts.Load()-scripts, sent.trips.Load()-trips
	t.Logf("%d scripts for %d slots in %d round trips in %.1f periods", scripts, len(slots), trips, elapsed.Seconds()/period.Seconds())
	// Some slots have several holds, which may not fall due together.
	require.LessOrEqual(t, scripts, n*rounds(elapsed, period))
	require.Greater(t, scripts, int64(len(slots)))
	// Two or three crowds a period, four pipelines of 256 scripts a master each at most.
	require.LessOrEqual(t, trips, masters*3*4*rounds(elapsed, period))
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+3*masters*4)
	among(t, n, func(i int) error {
		if !holds[i].Valid() {
			return fmt.Errorf("hold %d is not valid any more", i)
		}
		return holds[i].Unlock(t.Context())
	})
}

func TestOnAClusterWaitersHaveOneSubscriberPerMaster(t *testing.T) {
	const n = 300
	cluster := redistest.Cluster(t, 3, 0)
	names := occupy(t, cluster.Client(t), n)
	rdb := cluster.Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	var waiters sync.WaitGroup
	for _, name := range names {
		waiters.Go(func() { _, _ = rlock.New(rdb, name).Lock(ctx) })
	}
	defer waiters.Wait()
	defer cancel()
	var nodes []*redis.Client
	for i := range cluster.Len() {
		nodes = append(nodes, cluster.Node(i).Client(t))
	}
	sharded := cluster.Node(0).Has(t, servers.ShardedChannels)
	await(t, "everybody subscribed", func() bool {
		channels := 0
		for _, node := range nodes {
			channelsOf := node.PubSubChannels
			if sharded {
				channelsOf = node.PubSubShardChannels
			}
			list, err := channelsOf(t.Context(), "*").Result()
			require.NoError(t, err)
			channels += len(list)
		}
		return channels == 3*n // the lock's, that for passes, and that by which the others are counted
	})
	all := 0
	for i, node := range nodes {
		n := subscribers(t, node)
		all += n
		if sharded {
			require.Equal(t, 1, n, "node %d", i)
		}
	}
	if !sharded { // every node has every message
		require.Equal(t, 1, all)
	}
}

// The promise is a third; how much a node that stands still costs the others on a quiet machine is for the benchmark,
// here it is a multiple, and a second, that no noise reaches. What it guards against costs more: shared limits make
// everybody wait for the client's time-outs, which are several seconds.
func TestAHungNodeDoesNotSlowTheLocksOfTheOthers(t *testing.T) {
	h := newHang(t)
	healthy, hung := h.compare(t, 5, 2400)
	t.Logf("%v for a block while all nodes answer, %v while one stands still", healthy, hung)
	require.Less(t, hung, 3*healthy+time.Second)
}

// BenchmarkHungNode is how fast locks on the other nodes are while one stands still, relative to while it does not.
func BenchmarkHungNode(b *testing.B) {
	h := newHang(b)
	var ratios []float64
	for b.Loop() {
		healthy, hung := h.compare(b, 5, 1000)
		ratios = append(ratios, float64(healthy)/float64(hung))
	}
	b.ReportMetric(median(ratios), "xhealthy")
	b.ReportMetric(0, "ns/op")
}

// A hang is a cluster of which a node can be stopped while many want locks on it.
type hang struct {
	cluster *redistest.ClusterServers
	rdb     *redis.ClusterClient
	stuck   []string // names on the node
	free    []string // on the others
}

func newHang(tb testing.TB) *hang {
	h := &hang{cluster: redistest.Cluster(tb, 3, 0)}
	for i := range h.cluster.Len() {
		// One node that is gone must not make the others refuse.
		require.NoError(tb, h.cluster.Node(i).Client(tb).ConfigSet(tb.Context(), "cluster-require-full-coverage", "no").Err())
	}
	h.rdb = h.cluster.Client(tb)
	for i := 0; len(h.stuck) < 64 || len(h.free) < 8; i++ {
		name := fmt.Sprint("lock", i)
		if keys.Slot(name) < 16384/3 {
			h.stuck = append(h.stuck, name)
		} else {
			h.free = append(h.free, name)
		}
	}
	return h
}

// compare measures blocks of pairs on the other nodes, in turn while all answer and while the first stands still and 64
// callers want locks on it, and returns the medians.
func (h *hang) compare(tb testing.TB, blocks, pairs int) (healthy, hung time.Duration) {
	var up, down []time.Duration
	h.block(tb, pairs)
	for range blocks {
		runtime.GC() // what the last block left is not for the next to pay
		up = append(up, h.block(tb, pairs))

		h.cluster.Node(0).Stop()
		ctx, cancel := context.WithCancel(tb.Context())
		var callers sync.WaitGroup
		var asked atomic.Int64
		for _, name := range h.stuck {
			callers.Go(func() {
				asked.Add(1)
				if hold, err := rlock.New(h.rdb, name).Lock(ctx); err == nil {
					_ = hold.Unlock(ctx)
				}
			})
		}
		for asked.Load() < int64(len(h.stuck)) {
			runtime.Gosched()
		}
		time.Sleep(100 * time.Millisecond) // they fill whatever they can fill
		down = append(down, h.block(tb, pairs))
		h.cluster.Node(0).Continue()
		cancel()
		callers.Wait()
	}
	return median(up), median(down)
}

// block is how long a few callers take for so many pairs.
func (h *hang) block(tb testing.TB, pairs int) time.Duration {
	var callers sync.WaitGroup
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	start := time.Now()
	for _, name := range h.free[:8] {
		callers.Go(func() {
			lock := rlock.New(h.rdb, name)
			for range pairs / 8 {
				hold, err := lock.Lock(ctx)
				if err == nil {
					err = hold.Unlock(ctx)
				}
				if err != nil {
					tb.Errorf("a lock on a node that answers: %v", err)
					return
				}
			}
		})
	}
	callers.Wait()
	return time.Since(start)
}

func median[T int | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
