package fleet_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestClientsOfAClusterReportEverySecondWhileSomebodyLooks(t *testing.T) {
	t.Setenv("REDLATCH_REGISTRY", "on")
	servers := redistest.Cluster(t, 3, 0)
	looking := servers.Client(t)
	hold, err := rlock.New(servers.Client(t), "a").Lock(t.Context())
	require.NoError(t, err)
	unlockLater(t, hold)
	id, _ := identity(t, hold.Owner())
	var seen []int64
	redistest.Eventually(t, "the client has reported four times", func() bool {
		require.NoError(t, fleet.Watch(t.Context(), looking))
		at, err := looking.HGet(t.Context(), registry.Entry("", id), registry.SeenField).Int64()
		if err == nil && (len(seen) == 0 || seen[len(seen)-1] != at) {
			seen = append(seen, at)
		}
		return len(seen) == 4
	})
	for i := range seen[1:] {
		require.GreaterOrEqual(t, seen[i+1]-seen[i], int64(990))
	}
	unwatched := 9 * registry.Interval(1) / 10
	require.Less(t, seen[3]-seen[0], 3*unwatched.Milliseconds())
	require.Len(t, keysOf(t, servers, "redlatch_client_watched*"), registry.Buckets)
}

func TestAKeyThatSaysThatSomebodyLooksEndsSoonAndTakesNoOthersPlace(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix := srv.Client(t), srv.Key(t, "tenant")+":"
		require.NoError(t, fleet.Watch(t.Context(), client, fleet.WithRegistry(prefix)))
		for range 2 { // also when it is said again
			require.NoError(t, fleet.Watch(t.Context(), client, fleet.WithRegistry(prefix)))
		}
		for bucket := range registry.Buckets {
			ttl := client.PTTL(t.Context(), registry.Watched(prefix, bucket)).Val()
			require.Greater(t, ttl, time.Duration(0))
			require.LessOrEqual(t, ttl, fleet.WatchLasts)
		}
	})
	srv := redistest.Process(t)
	client, theirs := srv.Client(t), registry.Watched("", 7)
	require.NoError(t, client.RPush(t.Context(), theirs, "theirs").Err())
	require.ErrorContains(t, fleet.Watch(t.Context(), client), theirs)
	require.EqualValues(t, 1, client.LLen(t.Context(), theirs).Val())
}

func TestWhoMayOnlyReadIsToldThatWatchNeedsMore(t *testing.T) {
	srv := redistest.Process(t)
	admin := srv.Client(t)
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "viewer", "on", ">secret", "~redlatch_client_watched:*", "+@read", "+@connection").Err())
	viewer := srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "viewer", "secret" })
	err := fleet.Watch(t.Context(), viewer)
	require.True(t, redis.IsPermissionError(err), "%v", err)
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "viewer", "+set").Err())
	require.NoError(t, fleet.Watch(t.Context(), viewer))
}
