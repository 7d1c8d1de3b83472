package spinlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/spinlock"
)

func TestEveryOperationIsOneCommandAndNoneIsAMessage(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, other := t.Context(), srv.Client(t), srv.Client(t)
		before := srv.CommandStats(t)
		calls := func() int64 {
			stats := srv.CommandStats(t)
			for _, name := range []string{"subscribe", "ssubscribe", "psubscribe", "publish", "spublish", "pubsub|shardnumsub", "pubsub"} {
				require.Equal(t, before[name], stats[name], name)
			}
			return srv.Scripts(t)
		}
		lock := spinlock.New(client, srv.Key(t, "lock"), spinlock.WithBackOff(func(n int64) time.Duration { return min(time.Duration(n), 4) * ms }))
		inner := func(hold *redlatch.Hold) (*redlatch.Hold, error) { return lock.Lock(hold.Context(ctx)) }
		require.NoError(t, lock.Do(ctx, func(ctx context.Context) error { // the server knows the scripts from here on
			return lock.Do(ctx, func(context.Context) error { return nil })
		}))

		start := calls()
		outerHold, err := lock.Lock(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, calls()-start, "acquire")
		innerHold, err := inner(outerHold)
		require.NoError(t, err)
		require.EqualValues(t, 2, calls()-start, "re-enter")
		require.NoError(t, innerHold.Unlock(ctx))
		require.EqualValues(t, 3, calls()-start, "partial release")

		waited := make(chan error, 1)
		go func() {
			waited <- spinlock.New(other, lock.Name()).Do(ctx, func(context.Context) error { return nil })
		}()
		require.Eventually(t, func() bool { return calls()-start > 10 }, time.Minute, ms, "the waiter polls")
		require.NoError(t, outerHold.Unlock(ctx))
		require.NoError(t, <-waited)

		holder, err := lock.Lock(ctx)
		require.NoError(t, err)
		forced, err := spinlock.New(other, lock.Name()).ForceUnlock(ctx)
		require.NoError(t, err)
		require.True(t, forced)
		require.ErrorIs(t, holder.Unlock(ctx), redlatch.ErrLost)
		calls()
	})
}

func TestASpinLockLooksLikeAPlainOneInRedis(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		name := srv.Key(t, "lock")
		lock := spinlock.New(client, name)
		outer, err := lock.Lock(ctx)
		require.NoError(t, err)
		inner, err := lock.Lock(outer.Context(ctx))
		require.NoError(t, err)
		require.Equal(t, map[string]string{outer.Owner(): "2"}, client.HGetAll(ctx, name).Val())
		require.InDelta(t, 30*time.Second, client.PTTL(ctx, name).Val(), float64(10*time.Second))
		require.Equal(t, []string{name}, srv.Keys(t))
		_, err = rlock.New(srv.Client(t), name).TryLock(ctx)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NoError(t, inner.Unlock(ctx))
		require.NoError(t, outer.Unlock(ctx))
		require.Empty(t, srv.Keys(t))
	})
}

// In Redisson a failed try with a lease leaves that lease behind in the lock object, and a partial unlock applies it.
func TestAFailedTryWithALeaseDoesNotShortenTheHolders(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		lock := spinlock.New(client, srv.Key(t, "lock"))
		outer, err := lock.Lock(ctx, redlatch.WithLease(time.Hour))
		require.NoError(t, err)
		inner, err := lock.Lock(outer.Context(ctx), redlatch.WithLease(time.Hour))
		require.NoError(t, err)
		_, err = lock.TryLock(ctx, redlatch.WithLease(time.Second))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NoError(t, inner.Unlock(ctx))
		ttl, err := lock.RemainingTTL(ctx)
		require.NoError(t, err)
		require.Greater(t, ttl, 50*time.Minute)
		require.NoError(t, outer.Unlock(ctx))
	})
}

func TestBackOffOptionsAreForSpinLocksOnly(t *testing.T) {
	_, client := redistest.InMemory(t)
	_, err := rlock.New(client, "lock", every(ms)).Lock(t.Context())
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.ErrorContains(t, err, "WithBackOff is for spinlock and does not apply to a lock")
}

// A poll whose reply was lost may have taken the lock. Its caller is gone, so it has to be given back, long before its
// lease is over.
func TestAPollWithALostReplyLeavesNothingBehind(t *testing.T) {
	srv := redistest.Process(t)
	proxy := faultproxy.New(t, srv.Addr)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = client.Close() })
	lock := spinlock.New(client, "lock", briefly.Linger(0))
	require.NoError(t, lock.Do(t.Context(), func(context.Context) error { return nil }))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lost := proxy.On(faultproxy.Named("EVALSHA"), 1, faultproxy.DropReply)
	result := make(chan error, 1)
	go func() {
		_, err := lock.Lock(ctx, redlatch.WithLease(time.Hour))
		result <- err
	}()
	lost.AwaitExecuted(t, 1)
	require.NotEmpty(t, srv.Keys(t))
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
	proxy.CutAll() // the client learns that no reply will come
	require.Eventually(t, func() bool { return len(srv.Keys(t)) == 0 }, time.Minute, 5*ms)
}

func TestALostReplyDoesNotCostTheLock(t *testing.T) {
	srv := redistest.Process(t)
	proxy := faultproxy.New(t, srv.Addr)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: 200 * ms})
	t.Cleanup(func() { _ = client.Close() })
	lock := spinlock.New(client, "lock", briefly.Linger(0))
	require.NoError(t, lock.Do(t.Context(), func(context.Context) error { return nil }))

	lost := proxy.On(faultproxy.Named("EVALSHA"), 1, faultproxy.DropReply)
	hold, err := lock.Lock(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, lost.Hits())
	info, err := lock.Inspect(t.Context())
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	require.Equal(t, hold.Owner(), info.Holders[0].Owner)
	require.EqualValues(t, 1, info.Holders[0].Holds)
	require.True(t, info.Holders[0].Own)
	require.NoError(t, hold.Unlock(t.Context()))
	require.Empty(t, srv.Keys(t))
}
