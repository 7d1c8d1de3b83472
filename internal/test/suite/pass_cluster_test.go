package suite_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/rlock"
)

func TestOnAClusterALockIsPassedOn(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 3, 0)
	cluster.Node(0).Needs(t, servers.ShardedChannels)
	hold, err := rlock.New(cluster.Client(t), "lock").Lock(t.Context())
	require.NoError(t, err)
	rdb := cluster.Client(t)
	waiter := rlock.New(rdb, "lock", redlatch.WithPoll(unhelped))
	next := make(chan *redlatch.Hold, 1)
	go func() {
		hold, err := waiter.Lock(t.Context())
		if err != nil {
			t.Error(err)
		}
		next <- hold
	}()
	admin := cluster.Client(t)
	seats(t, admin, "lock", 1)
	owner := first(t, admin, "lock")
	session, _, _ := strings.Cut(owner, ":")
	ear := admin.SSubscribe(t.Context(), keys.LockRow("lock")+":"+session)
	defer ear.Close()
	_, err = ear.ReceiveTimeout(t.Context(), 30*time.Second)
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
	got := <-next
	require.NotNil(t, got)
	require.Equal(t, owner, got.Owner(), "as the one who sat there")
	event, err := ear.ReceiveTimeout(t.Context(), 30*time.Second)
	require.NoError(t, err)
	require.Contains(t, event.(*redis.Message).Payload, owner)
	require.NoError(t, got.Unlock(t.Context()))

	var c rivals
	for range 3 {
		c.work(t, fencedlock.New(cluster.Client(t), "fenced"), 3, 50)
	}
	c.wg.Wait()
	require.EqualValues(t, 3*3*50, c.done.Load())
}

// There a server does not know who listens at another one. The lock is passed to those whom it knows, and else for
// everybody; and whom it was passed to has it.
func TestOnAClusterWithClassicChannelsNoPassIsLost(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 0)
	passed := passes(t, cluster.Node(0).Client(t), "lock") // a message goes to all nodes
	var (
		c    rivals
		mu   sync.Mutex
		held = map[string]bool{}
	)
	for range 3 {
		client := cluster.Client(t)
		require.NoError(t, redlatch.Configure(client, redlatch.WithShardedPubSub(false)))
		lock := rlock.New(client, "lock", redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			mu.Lock()
			defer mu.Unlock()
			held[e.Owner] = true
		})))
		c.work(t, lock, 2, 60)
	}
	c.wg.Wait()
	require.EqualValues(t, 3*2*60, c.done.Load())
	mu.Lock()
	defer mu.Unlock()
	lost := 0
	for _, owner := range passed() {
		if !held[owner] {
			lost++
		}
	}
	t.Logf("%d passes, %d to somebody who had left", len(passed()), lost)
	require.LessOrEqual(t, lost, 3, "one for each process when it is done")
}
