package rlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestWithReplicasHoldsOnlyWhatReplicasHave(t *testing.T) {
	master, replica := redistest.Replicated(t)
	ctx, name := cancellable(t), master.Key(t, "lock")
	lock := rlock.New(master.Client(t), name, with(redlatch.WithReplicas(1, 2*time.Second))...)
	require.Eventually(t, func() bool { // the first WAIT after a full copy may take a second
		hold, err := lock.Lock(ctx)
		if err != nil {
			require.ErrorIs(t, err, redlatch.ErrNotReplicated)
			return false
		}
		require.NoError(t, hold.Unlock(ctx))
		return true
	}, patience, time.Millisecond)

	hold := take(t, lock, ctx)
	require.Equal(t, 1, count(t, direct(t, replica), name, hold.Owner()), "the replica has it")
	inner := take(t, lock, hold.Context(ctx))
	require.NoError(t, inner.Unlock(ctx))
	require.NoError(t, hold.Unlock(ctx))

	_, err := lock.Lock(ctx, redlatch.WithReplicas(2, 50*time.Millisecond))
	require.ErrorIs(t, err, redlatch.ErrNotReplicated)
	require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
	require.Empty(t, master.Keys(t), "undone")

	replica.Stop()
	for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
		_, err = ask(ctx, redlatch.WithReplicas(1, 100*time.Millisecond))
		require.ErrorIs(t, err, redlatch.ErrNotReplicated)
		require.EqualError(t, err, fmt.Sprintf("redlatch: not acknowledged by enough replicas: lock %q: 0 of the 1 asked for "+
			"within 100ms; the acquisition was undone", name))
		require.Empty(t, master.Keys(t), "undone")
	}
	plain := rlock.New(master.Client(t), name, quiet...)
	hold = take(t, plain, ctx) // without the option nobody waits for the replica
	_, err = lock.TryLock(ctx, redlatch.WithReplicas(1, 100*time.Millisecond))
	require.ErrorIs(t, err, redlatch.ErrNotAcquired, "held is held, whatever replicas say")
	require.NoError(t, hold.Unlock(ctx))
	replica.Continue()
}

// What the replicas acknowledge matters when a lock is taken. A replica that lags later costs nobody the lock.
func TestARenewalWaitsForNoReplica(t *testing.T) {
	master, replica := redistest.Replicated(t)
	ctx := cancellable(t)
	lock := rlock.New(master.Client(t), master.Key(t, "lock"),
		with(redlatch.WithReplicas(1, 2*time.Second), redlatch.WithWatchdogTimeout(3*time.Second))...)
	var hold *redlatch.Hold
	eventually(t, "a replica that acknowledges", func() (ok bool) {
		var err error
		hold, err = lock.Lock(ctx)
		return err == nil
	})
	replica.Stop()
	defer replica.Continue()
	for range 2 {
		until := time.Now().Add(3 * time.Second)
		eventually(t, "a renewal", func() bool { return hold.Until().After(until) || hold.Context(ctx).Err() != nil })
		require.NoError(t, context.Cause(hold.Context(ctx)))
	}
	require.NoError(t, hold.Unlock(ctx))
}

// Some managed servers, and some users, have no WAIT. What it would have said is unknown, so the lock is not taken.
func TestWhereWaitIsRefusedTheAcquisitionIsUndone(t *testing.T) {
	srv := redistest.Process(t)
	ctx := cancellable(t)
	lock := rlock.New(srv.User(t, "-wait"), "lock", quiet...)
	_, err := lock.Lock(ctx, redlatch.WithReplicas(1, 100*time.Millisecond))
	require.ErrorIs(t, err, redlatch.ErrNotReplicated)
	require.ErrorContains(t, err, "NOPERM")
	require.Empty(t, srv.Keys(t), "undone")
	require.NoError(t, take(t, lock, ctx).Unlock(ctx))
}

func TestWithReplicasRefusesATimeoutThatTheClientWouldCutShort(t *testing.T) {
	srv := redistest.Mini(t)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}, ReadTimeout: time.Second})
	defer cluster.Close()
	for _, client := range []redlatch.Client{
		srv.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Second }), cluster,
	} {
		for _, timeout := range []time.Duration{time.Second, time.Minute} {
			_, err := rlock.New(client, "lock", with(redlatch.WithReplicas(1, timeout))...).Lock(t.Context())
			require.ErrorIs(t, err, redlatch.ErrInvalid)
			require.ErrorContains(t, err, "read timeout")
			_, err = rlock.New(client, "lock", quiet...).Lock(t.Context(), redlatch.WithReplicas(1, timeout))
			require.ErrorIs(t, err, redlatch.ErrInvalid)
		}
	}
	require.Empty(t, srv.Keys(t))
}
