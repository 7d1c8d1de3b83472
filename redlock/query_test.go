package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

func TestMembersThatAreNotIndependentAreRefused(t *testing.T) {
	a, b := redistest.Mini(t), redistest.Mini(t)
	ctx := cancellable(t)
	one, two := a.Client(t), b.Client(t)
	opaque := &struct{ redlatch.Client }{one} // shows no address
	for _, clients := range [][]redlatch.Client{
		{one, two, one},
		{opaque, two, opaque},
		{one, two, a.Client(t)},
		{one, two, a.Client(t, func(o *redis.Options) { o.DB = 3 })},
		{one, two, redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1", b.Addr}})},
	} {
		lock := redlock.New(clients, name, quiet...)
		for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
			_, err := ask(ctx)
			require.ErrorIs(t, err, redlatch.ErrInvalid)
			require.ErrorContains(t, err, "are one")
		}
		_, err := lock.Inspect(ctx)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		_, err = lock.ForceUnlock(ctx)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		_, err = lock.IsLocked(ctx)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		if cluster, ok := clients[2].(*redis.ClusterClient); ok {
			require.NoError(t, cluster.Close())
		}
	}
	require.Panics(t, func() { redlock.New(nil, name) })
	require.Panics(t, func() { redlock.New([]redlatch.Client{one, nil}, name) })
}

func TestQueriesSpeakOfTheMajority(t *testing.T) {
	nodes, clients := servers(t, 5)
	ctx := cancellable(t)
	lock := redlock.New(clients(), name, quiet...)
	require.Equal(t, name, lock.Name())
	locked, err := lock.IsLocked(ctx)
	require.NoError(t, err)
	require.False(t, locked)
	minority := take(t, rlock.New(nodes[4].Client(t), name, quiet...), ctx)
	left, err := lock.RemainingTTL(ctx)
	require.NoError(t, err)
	require.Zero(t, left)

	hold := take(t, lock, ctx)
	eventually(t, "four have it", func() bool { return keys(t, nodes) == 5 })
	inner := take(t, lock, hold.Context(ctx))
	locked, err = lock.IsLocked(ctx)
	require.NoError(t, err)
	require.True(t, locked)
	count, err := lock.HoldCount(inner.Context(ctx))
	require.NoError(t, err)
	require.EqualValues(t, 2, count)
	count, err = lock.HoldCount(ctx)
	require.NoError(t, err)
	require.Zero(t, count)
	left, err = lock.RemainingTTL(ctx)
	require.NoError(t, err)
	require.Greater(t, left, 20*time.Second)

	nodes[0].Kill()
	info, err := lock.Inspect(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, info.Need)
	require.True(t, info.Exists)
	require.Greater(t, info.TTL, 20*time.Second)
	require.Len(t, info.Members, 5)
	require.Error(t, info.Members[0].Err)
	require.True(t, info.Members[1].Holders[0].Own)
	require.False(t, info.Members[4].Holders[0].Own)
	freed, err := lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, freed)
	require.ErrorIs(t, inner.Unlock(ctx), redlatch.ErrLost)
	require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
	require.ErrorIs(t, minority.Unlock(ctx), redlatch.ErrLost)
}

// takeOnAll takes the lock on each of the nodes. On a busy machine one may answer later than the node timeout, and does not join then;
// the lock is taken anew.
func takeOnAll(t *testing.T, lock redlatch.Locker, ctx context.Context, nodes []*redistest.Server) (hold *redlatch.Hold) {
	t.Helper()
	eventually(t, "all have it", func() bool {
		if hold != nil {
			require.NoError(t, hold.Unlock(ctx))
		}
		hold = take(t, lock, ctx)
		for begun := time.Now(); time.Since(begun) < time.Second; time.Sleep(5 * time.Millisecond) {
			if keys(t, nodes) == len(nodes) {
				return true
			}
		}
		return false
	})
	return hold
}

func TestTheContextOfARedlockOpensTheLockOfEachServer(t *testing.T) {
	nodes, clients := servers(t, 3)
	ctx, own := cancellable(t), clients()
	lock := redlock.New(own, name, quiet...)
	hold := takeOnAll(t, lock, ctx, nodes)
	one := take(t, rlock.New(own[0], name, quiet...), hold.Context(ctx)) // else it would wait for its own context's hold
	refused(t, rlock.New(own[0], name, quiet...), ctx)
	require.NoError(t, one.Unlock(ctx))
	again, err := lock.TryLock(hold.Context(ctx))
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(ctx))
	refused(t, redlock.New(clients(), name, quiet...), ctx)
	require.NoError(t, again.Unlock(ctx))
	nothing(t, nodes)
}

func TestARedlockIsAMemberOfAMultiLock(t *testing.T) {
	nodes, clients := servers(t, 3)
	ctx := cancellable(t)
	lock := redlock.New(clients(), name, quiet...)
	both := multilock.New([]redlatch.Locker{lock, rlock.New(nodes[0].Client(t), "plain", quiet...)})
	hold := take(t, both, ctx)
	refused(t, lock, ctx)
	inner := take(t, both, hold.Context(ctx))
	require.NoError(t, inner.Unlock(ctx))
	require.NoError(t, hold.Unlock(ctx))
	nothing(t, nodes)
}

func TestAWaitEndsWithItsContextAlsoWhenServersHang(t *testing.T) {
	nodes, clients := servers(t, 3)
	lock := redlock.New(clients(), name, quiet...)
	nodes[1].Stop()
	nodes[2].Stop()
	shutdown := errors.New("shutting down")
	for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(50*time.Millisecond, func() { cancel(shutdown) })
		_, err := ask(ctx, redlock.WithNodeTimeout(10*time.Second))
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody has it")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, shutdown)
	}
	nodes[1].Continue()
	nodes[2].Continue()
	nothing(t, nodes)
}
