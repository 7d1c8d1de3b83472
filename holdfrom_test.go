package redlatch_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/rlock"
)

func TestAContextHasTheHoldThatItCarries(t *testing.T) {
	srv := redistest.Mini(t)
	client := srv.Client(t)
	locks, again := lockOfEach(client), lockOfEach(client)
	locks["fake"] = redlatchtest.NewLocker("fake")
	again["fake"] = locks["fake"]
	for kind, lock := range locks {
		ctx := t.Context()
		_, ok := redlatch.HoldFrom(ctx, lock)
		require.False(t, ok, kind)
		hold, err := lock.Lock(ctx)
		require.NoError(t, err)
		inside := hold.Context(ctx)
		for _, same := range []redlatch.Locker{lock, again[kind]} { // also by another value for the same lock
			found, ok := redlatch.HoldFrom(inside, same)
			require.True(t, ok, kind)
			require.Same(t, hold, found)
		}
		for other, lock := range locks {
			_, ok := redlatch.HoldFrom(inside, lock)
			require.Equal(t, other == kind, ok, "%s within %s", other, kind)
		}
		_, ok = redlatch.HoldFrom(redlatch.Detach(inside), lock)
		require.False(t, ok)
		require.NoError(t, hold.Unlock(ctx))
		_, ok = redlatch.HoldFrom(inside, lock)
		require.False(t, ok, "it is over")
	}
}

func TestTheInnermostHoldCounts(t *testing.T) {
	lock := rlock.New(redistest.Mini(t).Client(t), "orders")
	outer, err := lock.Lock(t.Context())
	require.NoError(t, err)
	ctx := outer.Context(t.Context())
	inner, err := lock.Lock(ctx)
	require.NoError(t, err)
	within := inner.Context(ctx)
	found, _ := redlatch.HoldFrom(within, lock)
	require.Same(t, inner, found)
	require.NoError(t, inner.Unlock(ctx))
	found, _ = redlatch.HoldFrom(within, lock)
	require.Same(t, outer, found, "the inner one is over")
	require.NoError(t, outer.Unlock(ctx))
}

func TestTheMembersOfACompositeHaveNoHoldOfTheirOwn(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	member := rlock.New(client, "a")
	both := multilock.New([]redlatch.Locker{member, rlock.New(client, "b")})
	require.NoError(t, both.Do(t.Context(), func(ctx context.Context) error {
		_, ok := redlatch.HoldFrom(ctx, member)
		require.False(t, ok)
		_, ok = redlatch.HoldFrom(ctx, both)
		require.True(t, ok)
		return nil
	}))
}

// wrapped is a lock of the program's own.
type wrapped struct{ redlatch.Locker }

func (w wrapped) TryLock(context.Context, ...redlatch.Option) (*redlatch.Hold, error) {
	panic("it is not to be taken")
}

func TestOfAForeignLockNothingIsKnown(t *testing.T) {
	lock := rlock.New(redistest.Mini(t).Client(t), "orders")
	require.NoError(t, lock.Do(t.Context(), func(ctx context.Context) error {
		for _, foreign := range []redlatch.Locker{wrapped{lock}, &wrapped{lock}, nil} {
			_, ok := redlatch.HoldFrom(ctx, foreign)
			require.False(t, ok)
		}
		return nil
	}))
}

// counting counts the commands of a client.
type counting struct{ atomic.Int64 }

func (c *counting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

func TestAHoldIsFoundWithoutRedis(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	sent := &counting{}
	client.AddHook(sent)
	for kind, lock := range lockOfEach(client) {
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err)
		before := sent.Load()
		_, ok := redlatch.HoldFrom(hold.Context(t.Context()), lock)
		require.True(t, ok, kind)
		require.Equal(t, before, sent.Load(), kind)
		require.NoError(t, hold.Unlock(t.Context()))
		require.Greater(t, sent.Load(), before, "the commands are counted")
	}
}

// Code within Do that needs the hold, here for the guard of what it writes.
func ExampleHoldFrom() {
	rdb, end := exampleClient()
	defer end()
	ctx := context.Background()

	lock := fencedlock.New(rdb, "orders")
	guard := fencedlock.NewGuard(rdb, "orders")
	err := lock.Do(ctx, func(ctx context.Context) error {
		hold, ok := redlatch.HoldFrom(ctx, lock)
		if !ok {
			return redlatch.ErrNotHeld
		}
		return guard.For(hold).Set(ctx, "orders:next", "43")
	})
	fmt.Println(rdb.Get(ctx, "orders:next").Val(), err)
	// Output: 43 <nil>
}
