package interop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

// Every replica takes over from its master while one side holds and the other waits. The new masters know nothing of the
// subscriptions, and no message comes before they are made again; then it comes as before.
func TestAWaiterIsWokenByTheOtherSideAfterAFailover(t *testing.T) {
	const masters = 3
	servers := redistest.Cluster(t, masters, 1)
	w := &world{client: servers.Client(t), shards: true}
	var addresses []string
	for _, addr := range servers.Addrs() {
		addresses = append(addresses, "redis://"+addr)
	}
	var replicas []*redis.Client
	for i := range masters {
		w.nodes = append(w.nodes, servers.Node(i).Client(t))
		replicas = append(replicas, servers.Node(masters+i).Client(t))
	}
	openWorld(t, w, fields{"mode": "cluster", "addresses": addresses})

	type wait struct {
		o             object
		first, second actor
		ids           []string
		got           <-chan error
	}
	var waits []*wait
	for _, kind := range []string{"lock", "fair", "write", "semaphore", "permits", "latch"} {
		for _, makers := range [][2]func(*testing.T) actor{{w.java, w.golang}, {w.golang, w.java}} {
			cases.Add(1)
			one := &wait{o: w.object(kind), first: makers[0](t), second: makers[1](t)}
			waits = append(waits, one)
			switch kind {
			case "semaphore", "permits":
				_, err := one.first.setUp(one.o, 1)
				require.NoError(t, err)
				one.ids, err = one.first.acquire(one.o, 1, how{})
				require.NoError(t, err)
				one.got = start(func() error { _, err := one.second.acquire(one.o, 1, how{}); return err })
			case "latch":
				_, err := one.first.setUp(one.o, 1)
				require.NoError(t, err)
				one.got = start(func() error { return one.second.await(one.o, 0) })
			default:
				require.NoError(t, one.first.lock(one.o, how{}))
				one.got = start(func() error { return one.second.lock(one.o, how{}) })
			}
			w.awaitSleeper(t, one.o, one.second)
		}
	}
	for _, replica := range replicas {
		eventually(t, "the replica to be the master", func() bool {
			_ = replica.ClusterFailover(t.Context()) // refused while one is under way
			role, err := replica.Info(t.Context(), "replication").Result()
			return err == nil && strings.Contains(role, "role:master")
		})
	}
	w.nodes = replicas
	for _, one := range waits {
		w.awaitSleeper(t, one.o, one.second)
	}
	for _, one := range waits {
		released := time.Now()
		switch one.o.kind {
		case "semaphore", "permits":
			require.NoError(t, one.first.release(one.o, 1, one.ids))
		case "latch":
			require.NoError(t, one.first.countDown(one.o))
		default:
			require.NoError(t, one.first.unlock(one.o))
		}
		await(t, one.o.kind+" in "+one.second.side(), one.got)
		require.Less(t, time.Since(released), soon, "%s in %s", one.o.kind, one.second.side())
	}
}
