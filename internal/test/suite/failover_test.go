package suite_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// Behind sentinels, a holder keeps what the replica has when it takes over, however the client reads, and the next one
// gets it; what the replica has not is lost, and its holder learns of that by a renewal. What replicas acknowledged it
// has.
func TestAFailoverKeepsWhatTheReplicaHasAndTellsTheRest(t *testing.T) {
	t.Parallel()
	var theirs *redis.ClusterClient
	t.Cleanup(func() { // last, when the sentinels are gone
		if theirs == nil { // there is no server
			return
		}
		// Close leaves the subscription to a sentinel. It is given up when the sentinel does not say where the master is.
		_ = theirs.ForEachMaster(context.Background(), func(context.Context, *redis.Client) error { return nil })
		_ = theirs.Close()
	})
	servers := redistest.Sentinel(t)
	ctx := t.Context()
	ours := servers.Client(t)
	theirs = redis.NewFailoverClusterClient(&redis.FailoverOptions{
		MasterName: servers.MasterName, SentinelAddrs: servers.Addrs(), DialerRetries: 1,
	})
	const lease = 15 * time.Second // a failover takes a few seconds, and more on a busy machine
	renewed, replicated := redlatch.WithWatchdogTimeout(lease), redlatch.WithReplicas(1, 2500*time.Millisecond)

	kept, lost := map[string]*redlatch.Hold{}, map[string]*redlatch.Hold{}
	next := map[string]chan *redlatch.Hold{}
	others := lockers(theirs, "kept ")
	others["reader"] = rwlock.New(theirs, "kept read").Writer()
	for what, lock := range lockers(ours, "kept ") {
		hold, err := lock.Lock(ctx, renewed, replicated)
		require.NoError(t, err, what)
		kept[what], next[what] = hold, make(chan *redlatch.Hold, 1)
		go func() {
			got, err := others[what].Lock(ctx, renewed, redlatch.WithOutage(time.Minute))
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			next[what] <- got
		}()
	}
	servers.Replica.Stop()
	require.NoError(t, servers.Master.Client(t).Do(ctx, "client", "kill", "type", "replica").Err())
	for what, lock := range lockers(ours, "lost ") {
		hold, err := lock.Lock(ctx, renewed)
		require.NoError(t, err, what)
		lost[what] = hold
	}
	servers.Master.Kill()
	servers.Replica.Continue()

	for what, hold := range lost {
		<-hold.Context(ctx).Done()
		require.ErrorIs(t, context.Cause(hold.Context(ctx)), redlatch.ErrLost, what)
		require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost, what)
	}
	for what, hold := range kept {
		require.NoError(t, hold.Unlock(ctx), what)
		got := <-next[what]
		require.NotNil(t, got, what)
		require.NoError(t, got.Unlock(ctx), what)
	}
}
