package suite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// Programs that read from replicas share their client with the locks, which do not: a replica may be behind.
func TestNothingIsAskedOfAReplicaWhateverTheClientPrefers(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 1, 1)
	client := func() *redis.ClusterClient {
		return cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadOnly, o.RouteRandomly = true, true })
	}
	ours, theirs := client(), client()
	var locks []*rlock.Lock
	var holds []*redlatch.Hold
	for i := range 10 {
		lock := rlock.New(ours, fmt.Sprintf("lock%d", i), redlatch.WithWatchdogTimeout(3*time.Second))
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		locks, holds = append(locks, lock), append(holds, hold)
	}
	for i, lock := range locks {
		trusted := holds[i].Until()
		await(t, "a renewal", func() bool { return holds[i].Until().After(trusted) })
		_, err := rlock.New(theirs, lock.Name()).TryLock(t.Context())
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		held, err := lock.IsLocked(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		_, err = lock.Inspect(t.Context())
		require.NoError(t, err)
		_, err = semaphore.New(theirs, "pool").AvailablePermits(t.Context())
		require.NoError(t, err)
	}
	for _, hold := range holds {
		require.NoError(t, hold.Unlock(t.Context()))
	}
	stats := cluster.Node(1).CommandStats(t)
	require.Zero(t, stats["evalsha"]+stats["eval"], "asked of the replica")
}
