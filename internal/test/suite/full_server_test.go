package suite_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// On a server that is out of memory what is held is renewed and given back, and nothing is taken.
func TestAFullServerRenewsAndTakesBackAndGivesNothing(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	rdb, ctx := srv.Client(t), t.Context()
	lockers := map[string]redlatch.Locker{
		"rlock": rlock.New(rdb, "rlock"), "spinlock": spinlock.New(rdb, "spin"), "fairlock": fairlock.New(rdb, "fair"),
		"fencedlock": fencedlock.New(rdb, "fenced"), "reader": rwlock.New(rdb, "read").Reader(),
		"writer": rwlock.New(rdb, "write").Writer(), "group": multilock.NewGroup(rdb, "group", []string{"a", "b"}),
		"multilock": multilock.New([]redlatch.Locker{rlock.New(rdb, "multi a"), rlock.New(rdb, "multi b")}),
	}
	renewed := redlatch.WithWatchdogTimeout(6 * time.Second)
	holds, inner := map[string]*redlatch.Hold{}, map[string]*redlatch.Hold{}
	for what, lock := range lockers {
		hold, err := lock.Lock(ctx, renewed)
		require.NoError(t, err, what)
		holds[what] = hold
		inner[what], err = lock.Lock(hold.Context(ctx), renewed)
		require.NoError(t, err, what)
	}
	plain, leased := semaphore.New(rdb, "plain"), permitsemaphore.New(rdb, "leased")
	_, err := plain.TrySetPermits(ctx, 2)
	require.NoError(t, err)
	require.NoError(t, plain.Acquire(ctx, 1))
	_, err = leased.TrySetPermits(ctx, 2)
	require.NoError(t, err)
	permit, err := leased.Acquire(ctx, 1, renewed)
	require.NoError(t, err)
	latch := countdownlatch.New(rdb, "latch")
	_, err = latch.TrySetCount(ctx, 2)
	require.NoError(t, err)

	require.NoError(t, rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	trusted := time.Now().Add(6 * time.Second)
	await(t, "two renewals", func() bool {
		for what, hold := range holds {
			require.NoError(t, hold.Context(ctx).Err(), what)
			if !hold.Until().After(trusted) {
				return false
			}
		}
		return permit.Until().After(trusted)
	})
	for what, lock := range lockers {
		require.NoError(t, inner[what].Unlock(ctx), what)
		require.NoError(t, holds[what].Unlock(ctx), what)
		_, err := lock.TryLock(ctx)
		require.ErrorContains(t, err, "OOM", what)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, what)
	}
	require.NoError(t, permit.Release(ctx))
	require.NoError(t, plain.Release(ctx, 1))
	require.NoError(t, latch.CountDown(ctx))
	require.NoError(t, latch.CountDown(ctx))
	require.NoError(t, latch.Await(ctx))
	err = plain.TryAcquire(ctx, 1)
	require.ErrorContains(t, err, "OOM")
	_, err = leased.TryAcquire(ctx, 1)
	require.ErrorContains(t, err, "OOM")
}
