package permitsemaphore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// Semaphores on all masters: the keys of each have to fall together, renewals are grouped by slot, and messages travel on
// sharded channels.
func TestOnAClusterPermitsAreRenewedReleasedAndWaitedFor(t *testing.T) {
	client := redistest.Cluster(t, 3, 0).Client(t)
	ctx := t.Context()
	var all []*permitsemaphore.Semaphore
	var held []*permitsemaphore.Permit
	for i := range 12 {
		name := fmt.Sprintf("s%d", i)
		s := permitsemaphore.New(client, name, briefly.Linger(0), redlatch.WithPoll(long), redlatch.WithWatchdogTimeout(3*time.Second))
		_, err := s.TrySetPermits(ctx, 3)
		require.NoError(t, err)
		all, held = append(all, s), append(held, acquire(t, s, 3))
	}
	begin := held[0].Until()
	eventually(t, "all are renewed", func() bool {
		for _, p := range held {
			if !p.Until().After(begin.Add(900 * time.Millisecond)) {
				return false
			}
		}
		return true
	})
	for i, s := range all {
		w := acquiring(ctx, s, 2)
		require.True(t, held[i].Valid())
		require.NoError(t, s.Release(ctx, held[i].IDs()...))
		require.NoError(t, receive(t, w).Release(ctx))
		available, err := s.AvailablePermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 3, available)
	}
}
