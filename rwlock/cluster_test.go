package rwlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// The markers of other owners are composed in scripts: on a cluster they must fall into the slot of the lock.
func TestEverythingOfALockIsInOneSlot(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 0)
	client := func() *redis.ClusterClient { return cluster.Client(t) }
	ctx := t.Context()
	opts := []redlatch.Option{briefly.Linger(0), rwlock.WithWriterPreference(), redlatch.WithPoll(time.Hour)}
	for _, name := range []string{"a", "b", "c:d", "{tag}e"} {
		one, other := rwlock.New(client(), name, opts...), rwlock.New(client(), name, opts...)
		a, err := one.RLock(ctx, redlatch.WithWatchdogTimeout(3*time.Second))
		require.NoError(t, err)
		b, err := other.RLock(ctx)
		require.NoError(t, err)
		_, err = other.TryLock(ctx)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		first := a.Until()
		for !a.Until().After(first.Add(300 * time.Millisecond)) { // renewed
			require.True(t, a.Valid())
			time.Sleep(time.Millisecond)
		}
		got := make(chan *redlatch.Hold)
		go func() {
			w, err := one.Lock(ctx)
			if err != nil {
				t.Errorf("lock: %v", err)
			}
			got <- w
		}()
		require.NoError(t, b.Unlock(ctx))
		require.NoError(t, a.Unlock(ctx))
		w := <-got
		r, err := one.RLock(w.Context(ctx))
		require.NoError(t, err)
		require.NoError(t, w.Unlock(ctx))
		require.NoError(t, r.Unlock(ctx))
		locked, err := other.Reader().IsLocked(ctx)
		require.NoError(t, err)
		require.False(t, locked)
	}
}
