package fairlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// The channel of a waiter is composed inside the scripts: on a cluster it must be in the slot of the lock, and be
// published on by the command that the waiters listen for. With an hour between polls, messages alone hand over.
func TestOnAClusterTheOrderIsKeptByMessages(t *testing.T) {
	cluster := redistest.Cluster(t, 2, 0)
	clients := []*redis.ClusterClient{cluster.Client(t), cluster.Client(t)}
	ctx := t.Context()
	for _, name := range []string{"a", "b", "c:d", "{tag}e"} {
		opts := []redlatch.Option{redlatch.WithPoll(time.Hour), fairlock.WithPatience(10 * time.Hour), briefly.Linger(0)}
		locks := []*fairlock.Lock{fairlock.New(clients[0], name, opts...), fairlock.New(clients[1], name, opts...)}
		hold, err := locks[0].Lock(ctx)
		require.NoError(t, err)
		var (
			r  roll
			wg sync.WaitGroup
		)
		const waiters = 8
		for n := range waiters {
			wg.Go(func() {
				if err := locks[n%2].Do(ctx, func(context.Context) error {
					r.enter(t, n)
					defer r.exit()
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			soon(t, "the entry", func() bool {
				return clients[0].LLen(ctx, keys.FairQueue(name)).Val() == int64(n+1)
			})
		}
		require.NoError(t, hold.Unlock(ctx))
		wg.Wait()
		require.Len(t, r.numbers, waiters)
		require.IsIncreasing(t, r.numbers)
	}
}

func TestAWaiterCanAskForReplicas(t *testing.T) {
	master, replica := redistest.Replicated(t)
	client := master.Client(t)
	ctx := t.Context()
	lock := fairlock.New(client, "fair", briefly.Linger(0))
	require.Eventually(t, func() bool { // the first WAIT after a full copy may take a second
		hold, err := lock.Lock(ctx, redlatch.WithReplicas(1, 2*time.Second))
		if err != nil {
			require.ErrorIs(t, err, redlatch.ErrNotReplicated)
			return false
		}
		require.NoError(t, hold.Unlock(ctx))
		return true
	}, patient, time.Millisecond)

	holder, err := lock.Lock(ctx)
	require.NoError(t, err)
	one := wait(lock, ctx, redlatch.WithReplicas(1, 2*time.Second))
	queued(t, client, "fair", 1)
	two := wait(lock, ctx, redlatch.WithReplicas(2, 100*time.Millisecond))
	queued(t, client, "fair", 2)
	three := wait(lock, ctx)
	queued(t, client, "fair", 3)
	require.NoError(t, holder.Unlock(ctx))
	got := <-one
	require.NoError(t, got.err)
	require.True(t, replica.Client(t).HExists(ctx, "fair", got.hold.Owner()).Val(), "the replica has it")
	require.NoError(t, got.hold.Unlock(ctx))
	require.ErrorIs(t, (<-two).err, redlatch.ErrNotReplicated)
	got = <-three
	require.NoError(t, got.err)
	require.NoError(t, got.hold.Unlock(ctx))
	nothingLeft(t, client, "fair")
}
