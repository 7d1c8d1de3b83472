package suite_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// lockOfEach makes one lock of each kind, with a name of its own each.
func lockOfEach(clients ...redlatch.Client) map[redlatch.Kind]redlatch.Locker {
	client, linger := clients[0], briefly.Linger(0)
	return map[redlatch.Kind]redlatch.Locker{
		redlatch.KindLock:       rlock.New(client, "plain", linger),
		redlatch.KindFairLock:   fairlock.New(client, "fair", linger),
		redlatch.KindFencedLock: fencedlock.New(client, "fenced", linger),
		redlatch.KindSpinLock:   spinlock.New(client, "spin", linger),
		redlatch.KindReadLock:   rwlock.New(client, "read", linger).Reader(),
		redlatch.KindWriteLock:  rwlock.New(client, "written", linger),
		redlatch.KindGroupLock:  multilock.NewGroup(client, "group", []string{"a", "b"}, linger),
		redlatch.KindMultiLock:  multilock.New([]redlatch.Locker{rlock.New(client, "m1", linger), rlock.New(client, "m2", linger)}),
		redlatch.KindRedlock:    redlock.New(clients, "red", linger),
	}
}

func TestAHoldSaysOfWhatItIs(t *testing.T) {
	srv := redistest.Mini(t)
	for kind, lock := range lockOfEach(srv.Client(t)) {
		hold, err := lock.Lock(t.Context())
		require.NoError(t, err, kind)
		require.Equal(t, kind, hold.Kind())
		require.Equal(t, lock.Name(), hold.Name())
		require.NoError(t, hold.Unlock(t.Context()))
		require.Equal(t, lock.Name(), hold.Name(), "also after it")
	}
	hold, _ := redlatchtest.NewHold(redlatchtest.Terms{Name: "fake"})
	require.Equal(t, "fake", hold.Name())
	require.Equal(t, redlatch.KindLock, hold.Kind())
	require.NoError(t, hold.Unlock(t.Context()))
}

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
