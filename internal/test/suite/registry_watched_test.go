package suite_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestAClientReportsOftenOnlyWhileSomebodyLooksAndItHoldsSomething(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		viewer := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = viewer.Close() })
		hook := &flight{}
		client.AddHook(hook)
		hold := acquired(t, rlock.New(client, "lock", briefly.Linger(time.Second)))
		reports := func(pass time.Duration, looks bool) int64 {
			before := hook.sent.Load()
			for end := time.Now().Add(pass); time.Now().Before(end); time.Sleep(time.Second) {
				if looks {
					require.NoError(t, fleet.Watch(t.Context(), viewer))
				}
			}
			return hook.sent.Load() - before
		}
		require.InDelta(t, 12, reports(time.Minute, false), 2)
		reports(6*time.Second, true) // in which the client finds out
		require.InDelta(t, 55, reports(time.Minute, true), 5)
		reports(fleet.WatchLasts, false) // in which the last look ends
		require.InDelta(t, 12, reports(time.Minute, false), 2)

		require.NoError(t, hold.Unlock(t.Context()))
		reports(10*time.Second, true)
		require.Zero(t, reports(10*time.Minute, true), "it holds nothing")
	})
}
