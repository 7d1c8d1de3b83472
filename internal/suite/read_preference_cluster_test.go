package suite_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// Programs that read from replicas share their client with the locks, which do not: a replica may be behind.
func TestNothingIsAskedOfAReplicaWhateverTheClientPrefers(t *testing.T) {
	cluster := redistest.Cluster(t, 1, 1)
	client := func() *redis.ClusterClient {
		return cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadOnly, o.RouteRandomly = true, true })
	}
	ours, theirs := client(), client()
	for range 10 {
		lock := rlock.New(ours, "lock", redlatch.WithWatchdogTimeout(300*time.Millisecond))
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		trusted := hold.Until()
		await(t, "a renewal", func() bool { return hold.Until().After(trusted) })
		_, err = rlock.New(theirs, "lock").TryLock(t.Context())
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		held, err := lock.IsLocked(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		_, err = lock.Inspect(t.Context())
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
		_, err = semaphore.New(theirs, "pool").AvailablePermits(t.Context())
		require.NoError(t, err)
	}
	stats := cluster.Node(1).CommandStats(t)
	require.Zero(t, stats["evalsha"]+stats["eval"], "asked of the replica")
}
