package suite_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
)

// Serverless and proxied clusters answer at one address, so programs use a plain client. It has to do without scripts
// over several slots, which such a server refuses as a whole.
func TestAPlainClientOfAClusterRenewsAllItsHolds(t *testing.T) {
	t.Parallel()
	node := redistest.Cluster(t, 1, 0).Node(0)
	rdb := node.Client(t)
	renewed := redlatch.WithWatchdogTimeout(3 * time.Second)
	var holds []*redlatch.Hold
	for _, name := range []string{"a", "b", "c"} {
		hold, err := rlock.New(rdb, name).Lock(t.Context(), renewed)
		require.NoError(t, err)
		holds = append(holds, hold)
		pool := permitsemaphore.New(rdb, "pool "+name)
		_, err = pool.TrySetPermits(t.Context(), 1)
		require.NoError(t, err)
		permit, err := pool.Acquire(t.Context(), 1, renewed)
		require.NoError(t, err)
		defer func() { require.NoError(t, permit.Release(t.Context())) }()
	}
	until := holds[0].Until()
	for range 2 {
		await(t, "a renewal of all", func() bool {
			for _, hold := range holds {
				require.NoError(t, hold.Context(t.Context()).Err(), "one was lost")
			}
			return !slices.ContainsFunc(holds, func(h *redlatch.Hold) bool { return !h.Until().After(until) })
		})
		until = time.Now().Add(3 * time.Second) // trusted for longer only by another renewal
	}
	for _, hold := range holds {
		require.True(t, hold.Valid())
		require.NoError(t, hold.Unlock(t.Context()))
	}
}
