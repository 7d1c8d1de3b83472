package wakeup_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/internal/wakeup"
)

// shardedHub is a hub over a cluster client as a session makes it. searches counts calls of Shard.
func shardedHub(client *redis.ClusterClient, searches *atomic.Int64) *wakeup.Hub {
	return wakeup.New(wakeup.Config{
		Client: client,
		Shard: func(ctx context.Context, channel string) (any, wakeup.Client, error) {
			searches.Add(1)
			master, err := client.MasterForKey(ctx, channel)
			return master, master, err
		},
		Reload: func() { client.ReloadState(context.Background()) },
	})
}

// awaitAllHearing publishes to every channel until each has woken its waiter.
func awaitAllHearing(t *testing.T, client *redis.ClusterClient, waiters map[string]*waiter) {
	t.Helper()
	for channel, w := range waiters {
		awaitHearing(t, w, func() error { return client.SPublish(t.Context(), channel, "0").Err() })
	}
}

func listenOnAll(t *testing.T, hub *wakeup.Hub, n int) map[string]*waiter {
	t.Helper()
	waiters := make(map[string]*waiter)
	for i := range n {
		channel := fmt.Sprintf("channel:{%d}", i%(n/2)) // two of each slot, at least
		if i >= n/2 {
			channel += "-more"
		}
		waiters[channel] = listen(hub, channel)
	}
	for _, w := range waiters {
		awaitConfirmed(t, w)
	}
	return waiters
}

func pubsubConnections(t *testing.T, node *redis.Client) (n int) {
	t.Helper()
	list, err := node.Do(t.Context(), "client", "list", "type", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "\n")
}

func TestShardedChannelsShareOneConnectionPerMaster(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 0)
	cluster.Node(0).Needs(t, servers.ShardedChannels)
	client := cluster.Client(t)
	var searches atomic.Int64
	hub := shardedHub(client, &searches)
	waiters := listenOnAll(t, hub, 200)
	for _, w := range waiters {
		if n := w.wakes.Load(); n != 0 {
			t.Fatalf("%d wakes before any message", n)
		}
	}
	awaitAllHearing(t, client, waiters)
	for i := range cluster.Len() {
		node := cluster.Node(i).Client(t)
		if n := pubsubConnections(t, node); n != 1 {
			t.Errorf("%d pub/sub connections to node %d, want 1", n, i)
		}
		if errors := node.Info(t.Context(), "errorstats").Val(); strings.Contains(errors, "CROSSSLOT") {
			t.Errorf("node %d was sent one command for several slots: %s", i, errors)
		}
	}
	for _, w := range waiters {
		w.Close()
	}
	for i := range cluster.Len() {
		node := cluster.Node(i).Client(t)
		eventually(t, "no connection is left", func() bool { return pubsubConnections(t, node) == 0 })
	}
}

func TestShardedChannelsFollowTheirSlot(t *testing.T) {
	cluster := redistest.Cluster(t, 2, 0)
	cluster.Node(0).Needs(t, servers.ShardedChannels)
	client := cluster.Client(t)
	var searches atomic.Int64
	hub := shardedHub(client, &searches)
	waiters := listenOnAll(t, hub, 40)
	nodes := []*redis.Client{cluster.Node(0).Client(t), cluster.Node(1).Client(t)}

	for i := range 5 {
		channel := fmt.Sprintf("channel:{%d}", i)
		awaitStanding(t, hub, channel) // the move before may have taken it down
		w := listen(hub, channel)
		moveSlot(t, nodes, keys.Slot(channel))
		eventually(t, "the move is told, and that the channel stands again", func() bool { return w.wakes.Load() >= 2 })
		w.Close()
	}
	awaitAllHearing(t, client, waiters)

	activity := func() (n int64) {
		for _, w := range waiters {
			n += w.wakes.Load()
		}
		return n + searches.Load()
	}
	eventually(t, "nothing goes on rebuilding", func() bool {
		before := activity()
		time.Sleep(4 * time.Second) // longer than the longest pause between two attempts
		return activity() == before
	})
	for _, w := range waiters {
		w.Close()
	}
}

// awaitStanding returns when the subscription stands. A waiter that listens then is not woken by what went before.
func awaitStanding(t *testing.T, hub *wakeup.Hub, channel string) {
	t.Helper()
	w := listen(hub, channel)
	defer w.Close()
	awaitConfirmed(t, w)
}

func TestTheMasterOfASlotIsAskedForOnce(t *testing.T) {
	cluster := redistest.Cluster(t, 1, 0)
	cluster.Node(0).Needs(t, servers.ShardedChannels)
	var searches atomic.Int64
	hub := shardedHub(cluster.Client(t), &searches)
	var waiters []*waiter
	for i := range 500 {
		waiters = append(waiters, listen(hub, fmt.Sprintf("channel:{one}:%d", i)))
	}
	for _, w := range waiters {
		awaitConfirmed(t, w)
		defer w.Close()
	}
	if n := searches.Load(); n > 50 { // once each time that channels were waiting for a shard
		t.Errorf("%d searches for 500 channels of one slot", n)
	}
}

// moveSlot gives an empty slot to the node that does not own it.
func moveSlot(t *testing.T, nodes []*redis.Client, slot int) {
	t.Helper()
	ctx := t.Context()
	//lint:ignore SA1019 CLUSTER SHARDS needs Redis 7
	shards, err := nodes[0].ClusterSlots(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}
	owner := ""
	for _, shard := range shards {
		if shard.Start <= slot && slot <= shard.End {
			owner = shard.Nodes[0].ID
		}
	}
	var ids []string
	for _, node := range nodes {
		id, err := node.ClusterMyID(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	from, to := 0, 1
	if ids[1] == owner {
		from, to = 1, 0
	}
	for _, step := range []struct {
		node int
		args []any
	}{
		{to, []any{"importing", ids[from]}},
		{from, []any{"migrating", ids[to]}},
		{to, []any{"node", ids[to]}},
		{from, []any{"node", ids[to]}},
	} {
		args := append([]any{"cluster", "setslot", slot}, step.args...)
		if err := nodes[step.node].Do(ctx, args...).Err(); err != nil {
			t.Fatalf("%v on node %d: %v", args, step.node, err)
		}
	}
}

func TestShardedChannelsFollowAFailover(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 1)
	cluster.Node(0).Needs(t, servers.ShardedChannels)
	client := cluster.Client(t)
	var searches atomic.Int64
	hub := shardedHub(client, &searches)
	waiters := listenOnAll(t, hub, 40)
	t.Cleanup(func() {
		for _, w := range waiters {
			w.Close()
		}
	})

	replica := cluster.Node(3).Client(t) // of master 0
	eventually(t, "the replica takes over", func() bool {
		role, err := replica.Do(t.Context(), "role").Slice()
		if err == nil && role[0] == "master" {
			return true
		}
		_ = replica.ClusterFailover(t.Context()) // refused while one is under way
		return false
	})
	awaitAllHearing(t, client, waiters)

	cluster.Node(1).Stop() // a master that does not answer any more, and is voted out
	awaitAllHearing(t, client, waiters)
	cluster.Node(1).Continue()
	awaitAllHearing(t, client, waiters)
}
