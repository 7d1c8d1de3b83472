package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// client is the uuid of the i-th of many clients, which are in different buckets.
func clientID(i int) string { return fmt.Sprintf("%02x%06x-1111-8111-8111-111111111111", i%256, i) }

func TestEntriesAreReadFromAllMastersOfACluster(t *testing.T) {
	servers := redistest.Cluster(t, 3, 0)
	client := servers.Client(t)
	const many = 200
	for i := range many {
		enter(t, client, "", clientID(i), 0, registry.About{Version: 1, Host: fmt.Sprintf("web-%03d", i)},
			registry.Thing{Kind: "lock", Key: "orders", Waiters: 1, WaitingSince: int64(i + 1)})
	}
	clients, err := fleet.Clients(t.Context(), client)
	require.NoError(t, err)
	require.Len(t, clients, many)
	require.Equal(t, "web-000", clients[0].Host)

	holding, waiting := servers.Client(t), servers.Client(t)
	hold, err := rlock.New(holding, "orders").Lock(t.Context())
	require.NoError(t, err)
	unlockLater(t, hold)
	waitInBackground(t, func(ctx context.Context) error {
		hold, err := rlock.New(waiting, "orders").Lock(ctx)
		if err == nil {
			_ = hold.Unlock(context.Background())
		}
		return err
	})
	redistest.Eventually(t, "a process stands in the queue", func() bool {
		all := get(t, client, fleet.Detect, "orders").Waiting.Processes
		return len(all) == many+1 && all[0].Place == 1 && all[1].Who() == "web-000"
	})
	require.Zero(t, get(t, client, redlatch.KindLock, "orders").Waiting.Outsiders)
	for _, sub := range []interface{ Close() error }{client.Subscribe(t.Context(), keys.LockChannel("orders")),
		client.SSubscribe(t.Context(), keys.LockChannel("orders"))} {
		t.Cleanup(func() { _ = sub.Close() })
	}
	redistest.Eventually(t, "both families of channels are counted", func() bool {
		return get(t, client, redlatch.KindLock, "orders").Waiting.Outsiders == 2
	})
}
