package fleet_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// foreignKeys are how many keys of others stand beside a fleet, more than are walked unasked. REDLATCH_FOREIGN_KEYS=5000000 has the test
// measure beside as many, and hold the cost to a bound of time as well.
func foreignKeys(t *testing.T) (n int, bound time.Duration) {
	text := os.Getenv("REDLATCH_FOREIGN_KEYS")
	if text == "" {
		return 300_000, time.Hour
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n, 50 * time.Millisecond
}

// busy is for how many microseconds the server's main thread has had a processor. What a command took by the clock has the
// server's own waits for a processor in it.
func busy(t testing.TB, client *redis.Client) int64 {
	t.Helper()
	stats, err := client.InfoMap(t.Context(), "cpu").Result()
	require.NoError(t, err)
	var seconds float64
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		n, err := strconv.ParseFloat(stats["CPU"][name], 64)
		require.NoError(t, err)
		seconds += n
	}
	return int64(seconds * 1e6)
}

// A thousand clients with ten locks each, beside many keys of others: what List costs goes with the locks and clients.
func TestAListCostsWhatTheClientsUseAndNotWhatOthersKeep(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	ctx := t.Context()
	const clients, each = 1000, 10
	foreign, bound := foreignKeys(t)
	populate(t, client, foreign)
	var names []string
	for i := range clients {
		var things []registry.Thing
		pipe := client.Pipeline()
		for j := range each {
			name := fmt.Sprintf("orders:%04d:%d", i, j)
			names = append(names, name)
			things = append(things, registry.Thing{Kind: "lock", Key: name, Holds: 1, HeldSince: 5, Owners: []registry.Owner{{ID: "7", Since: 5}}})
			pipe.HSet(ctx, name, clientID(i)+":7", 1)
			pipe.PExpire(ctx, name, time.Hour)
		}
		_, err := pipe.Exec(ctx)
		require.NoError(t, err)
		enter(t, client, "", clientID(i), 0, webAbout, things...)
	}
	floor := busy(t, client)
	pipe := client.Pipeline()
	for _, name := range names {
		pipe.HGetAll(ctx, name)
		pipe.PTTL(ctx, name)
	}
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	before := busy(t, client)
	floor = before - floor
	commands := srv.Commands(t)
	began := time.Now()
	report, err := fleet.List(ctx, client)
	took := time.Since(began)
	require.NoError(t, err)
	cost := busy(t, client) - before
	commands = srv.Commands(t) - commands
	t.Logf("%d objects, %d keys: %d commands, %v of the server's time, where two plain commands for each lock take %v; in %v",
		len(report.Objects), report.Keys, commands, time.Duration(cost)*time.Microsecond, time.Duration(floor)*time.Microsecond, took)
	require.Len(t, report.Objects, clients*each)
	require.Equal(t, report.Keys, report.Skipped)
	for _, o := range report.Objects {
		require.Equal(t, "web-3 billing pid 17 (blue)", o.Holders[0].Who())
		require.Empty(t, o.Unconfirmed)
	}
	require.Zero(t, srv.CommandStats(t)["scan"])
	require.Less(t, commands, int64(2*clients*each+2*clients))
	require.Less(t, cost, 4*floor)
	require.LessOrEqual(t, time.Duration(cost)*time.Microsecond, bound)
}

func TestAWalkLeavesTheServerMostOfItsTime(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	populate(t, client, 20_000)
	require.NoError(t, client.HSet(t.Context(), "lock", java+":42", 1).Err())
	before, began := busy(t, client), time.Now()
	objects, report := list(t, client, fleet.WithScan(), fleet.WalkAtMost(10_000))
	took, cost := time.Since(began), time.Duration(busy(t, client)-before)*time.Microsecond
	t.Logf("%v of %v", cost, took)
	require.NotNil(t, objects["lock"])
	require.Zero(t, report.Skipped)
	require.Less(t, cost, took/12, "a twentieth is aimed at")
}
