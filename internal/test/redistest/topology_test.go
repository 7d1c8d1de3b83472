package redistest_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestReplicatedCopiesWrites(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Replicated(t)
	client := master.Client(t)
	// One pipeline is one connection: WAIT speaks of the writes of its own.
	var acknowledged *redis.Cmd
	_, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		pipe.Set(t.Context(), "k", "v", 0)
		acknowledged = pipe.Do(t.Context(), "wait", 1, 0)
		return nil
	})
	ok(t, err)
	equal(t, any(int64(1)), acknowledged.Val())
	equal(t, "v", replica.Client(t).Get(t.Context(), "k").Val())
}

func TestClusterServesAllSlotsAndKeepsServingWithoutAMaster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3, 1)
	equal(t, 6, cluster.Len())
	client := cluster.Client(t)
	for i := range 100 {
		ok(t, client.Set(t.Context(), fmt.Sprint("key", i), i, 0).Err())
	}
	for i := range 3 {
		if len(cluster.Node(i).Keys(t)) == 0 {
			t.Fatalf("master %d got none of 100 keys", i)
		}
	}

	cluster.Node(0).Kill()
	eventually(t, "the replica takes over", func() bool {
		client.ReloadState(t.Context())
		return client.Set(t.Context(), "{06S}", 1, 0).Err() == nil // slot 0
	})
}

func TestClusterWithoutReplicas(t *testing.T) {
	t.Parallel()
	client := redistest.Cluster(t, 2, 0).Client(t)
	ok(t, client.Set(t.Context(), "k", "v", 0).Err())
}

func TestSentinelMovesTheClientToTheReplica(t *testing.T) {
	t.Parallel()
	group := redistest.Sentinel(t)
	client := group.Client(t)
	ok(t, client.Set(t.Context(), "k", "v", 0).Err())
	eventually(t, "the replica has it", func() bool { return len(group.Replica.Keys(t)) == 1 })

	group.Master.Kill()
	eventually(t, "the replica takes over", func() bool {
		return client.Set(t.Context(), "k", "w", 0).Err() == nil
	})
	equal(t, "w", group.Replica.Client(t).Get(t.Context(), "k").Val())
}
