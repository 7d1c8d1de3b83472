package suite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
)

// On a cluster whoever gives back first has to ask which family of channels is in use. That is no reason to mind the end
// of a context.
func TestOnAClusterWhatIsGivenBackFirstIsGivenBackOnACancelledContext(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3, 0)
	setUp := cluster.Client(t)
	_, err := semaphore.New(setUp, "s").TrySetPermits(t.Context(), 1)
	require.NoError(t, err)
	_, err = permitsemaphore.New(setUp, "p").TrySetPermits(t.Context(), 1)
	require.NoError(t, err)
	for range 20 { // whether the question or the end of the context is seen first is a matter of chance
		_, err = countdownlatch.New(setUp, "l").TrySetCount(t.Context(), 1)
		require.NoError(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		rdb := cluster.Client(t)
		for _, lock := range []redlatch.Locker{rlock.New(rdb, "r"), fencedlock.New(cluster.Client(t), "f"),
			fairlock.New(cluster.Client(t), "q"), rwlock.New(cluster.Client(t), "w").Writer()} {
			hold, err := lock.Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, hold.Unlock(ended), lock.Name())
		}
		require.NoError(t, semaphore.New(cluster.Client(t), "s").Release(ended, 1))
		permit, err := permitsemaphore.New(cluster.Client(t), "p").Acquire(t.Context(), 1)
		require.NoError(t, err)
		require.NoError(t, permit.Release(ended))
		require.NoError(t, countdownlatch.New(cluster.Client(t), "l").CountDown(ended))
	}
}
