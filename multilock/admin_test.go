package multilock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

func TestAMultiLockAnswersForAllItsMembers(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	a, b := rlock.New(client, "a", quiet...), rwlock.New(client, "b", quiet...)
	lock := multilock.New([]redlatch.Locker{b.Reader(), a, multilock.New([]redlatch.Locker{fencedlock.New(client, "c", quiet...)})})
	state := func(ctx context.Context) (locked bool, count int64, ttl time.Duration) {
		locked, err := lock.IsLocked(ctx)
		require.NoError(t, err)
		count, err = lock.HoldCount(ctx)
		require.NoError(t, err)
		ttl, err = lock.RemainingTTL(ctx)
		require.NoError(t, err)
		return locked, count, ttl
	}
	locked, count, ttl := state(ctx)
	require.False(t, locked)
	require.Zero(t, count)
	require.Zero(t, ttl)

	one := take(t, a, ctx, redlatch.WithLease(10*time.Second))
	locked, count, ttl = state(one.Context(ctx))
	require.True(t, locked, "it would have to be waited for")
	require.Zero(t, count, "only a member is held")
	require.InDelta(t, 10, ttl.Seconds(), 5)
	require.NoError(t, one.Unlock(ctx))

	outer := take(t, lock, ctx)
	inner := take(t, lock, outer.Context(ctx))
	locked, count, ttl = state(inner.Context(ctx))
	require.True(t, locked)
	require.EqualValues(t, 2, count)
	require.Greater(t, ttl, 20*time.Second)
	require.NoError(t, inner.Unlock(ctx))
	_, count, _ = state(outer.Context(ctx))
	require.EqualValues(t, 1, count)
	_, count, _ = state(ctx)
	require.Zero(t, count, "ctx carries nothing")
	require.NoError(t, client.Persist(ctx, "a").Err())
	_, _, ttl = state(ctx)
	require.Negative(t, ttl, "a member has no TTL")

	info, err := lock.Inspect(ctx)
	require.NoError(t, err)
	require.Equal(t, "a+b+c", info.Name)
	require.Equal(t, redlatch.KindMultiLock, info.Kind)
	require.EqualValues(t, 3, info.Need)
	require.True(t, info.Exists)
	require.Negative(t, info.TTL)
	require.Len(t, info.Members, 3)
	for i, kind := range []redlatch.Kind{"lock", "read_lock", "multi_lock"} {
		require.NoError(t, info.Members[i].Err)
		require.Equal(t, kind, info.Members[i].Kind)
		require.True(t, info.Members[i].Exists)
	}
	require.EqualValues(t, 2, info.Members[2].Members[0].Token, "each acquisition is issued a token")
	require.EqualValues(t, 2, info.Members[2].Members[0].Holders[0].Token)
	require.NotZero(t, info.Members[0].Holders[0].Since)

	freed, err := lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, freed)
	freed, err = lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.False(t, freed)
	require.ErrorIs(t, outer.Unlock(ctx), redlatch.ErrLost)
}

func TestAMemberThatCannotBeAskedIsInvalid(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	a, hold := rlock.New(client, "a", quiet...), (*redlatch.Hold)(nil)
	lock := multilock.New([]redlatch.Locker{a, scripted{&script{}, "b"}})
	hold = take(t, a, ctx)
	for method, ask := range map[string]func() error{
		"IsLocked":     func() error { _, err := lock.IsLocked(ctx); return err },
		"HoldCount":    func() error { _, err := lock.HoldCount(ctx); return err },
		"RemainingTTL": func() error { _, err := lock.RemainingTTL(ctx); return err },
		"ForceUnlock":  func() error { _, err := lock.ForceUnlock(ctx); return err },
		"Inspect":      func() error { info, err := lock.Inspect(ctx); require.NoError(t, err); return info.Members[1].Err },
	} {
		err := ask()
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, `the member "b" of the multi-lock is a multilock_test.scripted, which has no method `+method)
	}
	require.NoError(t, hold.Unlock(ctx), "no member was freed")
}

func TestAMemberThatFailsIsNamedAndTheOthersAreFreed(t *testing.T) {
	near, far := redistest.Mini(t), redistest.Process(t)
	ctx := cancellable(t)
	client := func(srv *redistest.Server) *redis.Client { return srv.Client(t) }
	soon := with(redlatch.WithOutage(50 * time.Millisecond))
	down, up := rlock.New(client(far), "a", soon...), rlock.New(client(near), "b", quiet...)
	lock := multilock.New([]redlatch.Locker{down, up})
	hold := take(t, up, ctx)
	far.Kill()
	_, err := lock.IsLocked(ctx)
	require.ErrorContains(t, err, `multi-lock "a+b": lock "a"`)
	info, err := lock.Inspect(ctx)
	require.NoError(t, err)
	require.Error(t, info.Members[0].Err)
	require.Equal(t, "a", info.Members[0].Name)
	require.True(t, info.Members[1].Exists)
	freed, err := lock.ForceUnlock(ctx)
	require.Error(t, err)
	require.True(t, freed)
	require.True(t, errors.Is(hold.Unlock(ctx), redlatch.ErrLost))
}

func TestOptionsOfNewAreDefaultsAndThoseOfTheMembersNewAreNotTaken(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, client := cancellable(t), srv.Client(t)
	member := []redlatch.Locker{rlock.New(client, "a", quiet...)}
	hold := take(t, multilock.New(member, redlatch.WithLease(time.Hour)), ctx)
	require.Greater(t, client.PTTL(ctx, "a").Val(), 50*time.Minute)
	require.NoError(t, hold.Unlock(ctx))
	_, err := multilock.New(member, redlatch.WithNameMapper(nil)).TryLock(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.ErrorContains(t, err, "give it to the New of its members")
}
