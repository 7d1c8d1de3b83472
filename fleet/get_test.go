package fleet_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

func TestAHolderIsShownWithItsProcess(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		asking := srv.Client(t)
		for kind, make := range map[redlatch.Kind]func(c redlatch.Client, name string) locktest.Lock{
			redlatch.KindLock:       func(c redlatch.Client, name string) locktest.Lock { return rlock.New(c, name) },
			redlatch.KindFairLock:   func(c redlatch.Client, name string) locktest.Lock { return fairlock.New(c, name) },
			redlatch.KindFencedLock: func(c redlatch.Client, name string) locktest.Lock { return fencedlock.New(c, name) },
			redlatch.KindSpinLock:   func(c redlatch.Client, name string) locktest.Lock { return spinlock.New(c, name) },
			redlatch.KindWriteLock:  func(c redlatch.Client, name string) locktest.Lock { return rwlock.New(c, name).Writer() },
			redlatch.KindReadLock:   func(c redlatch.Client, name string) locktest.Lock { return rwlock.New(c, name).Reader() },
			redlatch.KindGroupLock: func(c redlatch.Client, name string) locktest.Lock {
				return multilock.NewGroup(c, name, []string{"a"})
			},
		} {
			holding, name := srv.Client(t), srv.Key(t, "name")
			o := get(t, asking, kind, name)
			require.False(t, o.Info.Exists)
			require.Empty(t, o.Holders)

			hold, err := make(holding, name).Lock(t.Context())
			require.NoError(t, err)
			unlockLater(t, hold)
			o = get(t, asking, kind, name)
			require.True(t, o.Info.Exists, kind)
			require.Len(t, o.Holders, 1, kind)
			h := o.Holders[0]
			require.Nil(t, h.Client)
			require.Equal(t, "client "+h.ClientID, h.Who())
			require.False(t, h.Own)

			id, number := identity(t, h.Owner)
			since := now(t, asking) - 5000
			enter(t, asking, "", id, time.Second, webAbout, registry.Thing{
				Kind: string(kind), Key: name, Holds: 1, HeldSince: since, Owners: []registry.Owner{{ID: number, Since: since}}})
			o = get(t, asking, kind, name)
			require.Empty(t, o.Unconfirmed, kind)
			h = o.Holders[0]
			require.Equal(t, id, h.ClientID)
			require.Equal(t, "web-3 billing pid 17 (blue)", h.Who(), kind)
			require.Equal(t, since, h.Since.UnixMilli())
			require.InDelta(t, time.Second, h.Client.LastSeen, float64(time.Second))
			require.False(t, h.Client.Silent())
			require.Positive(t, h.TTL)
		}
	})
}

func TestAHolderOfRedissonIsShownByItsUUID(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		lock, rw := srv.Key(t, "lock"), srv.Key(t, "rw")
		require.NoError(t, client.HSet(t.Context(), lock, java+":42", 2).Err())
		require.NoError(t, client.PExpire(t.Context(), lock, 30*time.Second).Err())
		require.NoError(t, client.HSet(t.Context(), rw, "mode", "write", java+":42:write", 1, java+":42", 1).Err())
		require.NoError(t, client.PExpire(t.Context(), rw, 30*time.Second).Err())

		o := get(t, client, fleet.Detect, lock)
		require.Equal(t, redlatch.KindLock, o.Kind)
		require.Equal(t, []string{"Redisson client " + java + "  2"}, holders(o))
		o = get(t, client, fleet.Detect, rw)
		require.Equal(t, redlatch.KindReadWriteLock, o.Kind)
		require.Equal(t, []string{"Redisson client " + java + " read 1", "Redisson client " + java + " write 1"}, holders(o))

		enter(t, client, "", java, 0, registry.About{Version: 1, Host: "pay-1", Language: "java", Library: "redisson 4.7.0"})
		require.Equal(t, []string{"pay-1  2"}, holders(get(t, client, redlatch.KindLock, lock)))
	})
}

func TestADeadHolderIsShownWithWhenItWasSeen(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		name := srv.Key(t, "lock")
		require.NoError(t, client.HSet(t.Context(), name, ours+":1", 1).Err())
		enter(t, client, "", ours, 23*time.Second, webAbout, registry.Thing{Kind: "lock", Key: name, Holds: 1, HeldSince: 1, Owners: []registry.Owner{{ID: "1", Since: 1}}})
		c := get(t, client, redlatch.KindLock, name).Holders[0].Client
		require.GreaterOrEqual(t, c.LastSeen, 23*time.Second)
		require.True(t, c.Silent())
		require.Equal(t, 5*time.Second, c.Interval)
	})
}

func TestWhatOnlyAnEntryClaimsIsNoHolder(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		name := srv.Key(t, "lock")
		require.NoError(t, client.HSet(t.Context(), name, java+":42", 1).Err())
		enter(t, client, "", ours, 0, webAbout, registry.Thing{
			Kind: "lock", Key: name, Holds: 1, HeldSince: 5, Owners: []registry.Owner{{ID: "7", Since: 5}}})
		enter(t, client, "", other, 0, registry.About{Version: 1, Host: "web-4"}, registry.Thing{Kind: "spin_lock", Key: name, Holds: 3, HeldSince: 5})
		o := get(t, client, redlatch.KindLock, name)
		require.Equal(t, []string{"Redisson client " + java + "  1"}, holders(o))
		require.Len(t, o.Unconfirmed, 2)
		require.Equal(t, ours+":7", o.Unconfirmed[0].Owner)
		require.Equal(t, "web-3 billing pid 17 (blue)", o.Unconfirmed[0].Who())
		require.EqualValues(t, 3, o.Unconfirmed[1].Holds)
		require.Equal(t, "web-4", o.Unconfirmed[1].Who())
	})
}

func TestCountersAreShown(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		holding, client := srv.Client(t), srv.Client(t)
		ctx := t.Context()
		name := srv.Key(t, "semaphore")
		s := semaphore.New(holding, name)
		_, err := s.TrySetPermits(ctx, 5)
		require.NoError(t, err)
		require.NoError(t, s.Acquire(ctx, 2))
		enter(t, client, "", ours, 0, webAbout, registry.Thing{Kind: "semaphore", Key: name, Holds: 2, HeldSince: 5})
		o := get(t, client, redlatch.KindSemaphore, name)
		require.EqualValues(t, 3, o.Info.Value)
		require.Empty(t, o.Holders, "Redis does not know who has permits")
		require.Len(t, o.Unconfirmed, 1)
		require.EqualValues(t, 2, o.Unconfirmed[0].Holds)
		require.Equal(t, redlatch.KindSemaphore, get(t, client, fleet.Detect, name).Kind, "its entry tells")

		name = srv.Key(t, "permits")
		p := permitsemaphore.New(holding, name)
		_, err = p.TrySetPermits(ctx, 5)
		require.NoError(t, err)
		permit, err := p.Acquire(ctx, 2)
		require.NoError(t, err)
		t.Cleanup(func() { _ = permit.Release(context.Background()) })
		ids := permit.IDs()
		enter(t, client, "", ours, 0, webAbout, registry.Thing{Kind: "permit_semaphore", Key: name, Holds: 1, HeldSince: 5,
			Owners: []registry.Owner{{ID: ids[0], Since: 5}}})
		o = get(t, client, fleet.Detect, name)
		require.Equal(t, redlatch.KindPermitSemaphore, o.Kind)
		require.EqualValues(t, 5, o.Info.Total)
		require.ElementsMatch(t, []string{"web-3 billing pid 17 (blue)  1", "unknown  1"}, holders(o))
		require.Empty(t, o.Unconfirmed)

		name = srv.Key(t, "latch")
		l := countdownlatch.New(holding, name)
		_, err = l.TrySetCount(ctx, 3)
		require.NoError(t, err)
		o = get(t, client, fleet.Detect, name)
		require.Equal(t, redlatch.KindLatch, o.Kind)
		require.EqualValues(t, 3, o.Info.Value)
	})
}

func TestAnotherKindUnderTheNameIsToldByWhatItIs(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		ctx := t.Context()
		lock, rw, list, hash, text, count, permits := srv.Key(t, "lock"), srv.Key(t, "rw"), srv.Key(t, "list"), srv.Key(t, "hash"),
			srv.Key(t, "text"), srv.Key(t, "count"), srv.Key(t, "permits")
		require.NoError(t, client.HSet(ctx, lock, java+":42", 1).Err())
		require.NoError(t, client.HSet(ctx, rw, "mode", "read", java+":42", 1).Err())
		require.NoError(t, client.RPush(ctx, list, 1).Err())
		require.NoError(t, client.HSet(ctx, hash, java+":42", 1, "more", 1).Err())
		require.NoError(t, client.Set(ctx, text, strings.Repeat("7", 30), 0).Err())
		require.NoError(t, client.Set(ctx, count, 7, 0).Err())
		require.NoError(t, client.Set(ctx, permits, 7, 0).Err())
		require.NoError(t, client.ZAdd(ctx, "{"+permits+"}:timeout", redis.Z{Member: "0123456789abcdef", Score: 1e15}).Err())
		for _, test := range []struct {
			kind         redlatch.Kind
			name, expect string
		}{
			{redlatch.KindSemaphore, lock, "is a lock, not a semaphore"},
			{redlatch.KindReadWriteLock, lock, "is a lock, not a read-write lock"},
			{redlatch.KindReadLock, lock, "is a lock, not a read-write lock"},
			{redlatch.KindFairLock, rw, "is a read-write lock, not a fair lock"},
			{redlatch.KindLock, list, "is a list of another program, not a lock"},
			{fleet.Detect, list, "is a list of another program"},
			{redlatch.KindLock, hash, "is a hash of another program, not a lock"},
			{redlatch.KindSemaphore, text, "is a string of another program, not a semaphore"},
			{redlatch.KindLock, count, "is a number, not a lock"},
			{fleet.Detect, count, "say which kind it is"},
			{redlatch.KindSemaphore, permits, "is a permit semaphore, not a semaphore"},
			{redlatch.KindLatch, permits, "is a permit semaphore, not a latch"},
		} {
			_, err := fleet.Get(ctx, client, test.kind, test.name)
			var wrong *fleet.KindError
			require.ErrorAs(t, err, &wrong, "%s %s", test.kind, test.name)
			require.ErrorIs(t, err, redlatch.ErrInvalid)
			require.ErrorContains(t, err, test.expect)
			require.Equal(t, test.kind == fleet.Detect && test.name == count, wrong.Ambiguous)
			require.Equal(t, test.name, wrong.Key)
		}
		require.EqualValues(t, 7, get(t, client, redlatch.KindSemaphore, count).Info.Value)
		_, err := fleet.Get(ctx, client, "teapot", count)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		_, err = fleet.Get(ctx, client, redlatch.KindLock, "")
		require.ErrorIs(t, err, redlatch.ErrInvalid)
	})
}

func TestAFreeNameIsAnObjectWithoutHolders(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		o := get(t, client, fleet.Detect, srv.Key(t, "nothing"))
		require.Equal(t, fleet.Detect, o.Kind)
		require.False(t, o.Info.Exists)

		name := srv.Key(t, "fenced")
		hold, err := fencedlock.New(client, name).Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
		require.Equal(t, redlatch.KindFencedLock, get(t, client, fleet.Detect, name).Kind, "the token stays")
	})
}

func TestKindsAreReadByTheirNamesAndThoseOfTheirPackages(t *testing.T) {
	for text, kind := range map[string]redlatch.Kind{
		"": fleet.Detect, "detect": fleet.Detect, "lock": redlatch.KindLock, "rlock": redlatch.KindLock, "read lock": redlatch.KindReadWriteLock, "rwlock": redlatch.KindReadWriteLock,
		"permit semaphore": redlatch.KindPermitSemaphore, "countdownlatch": redlatch.KindLatch, "latch": redlatch.KindLatch,
	} {
		got, err := fleet.ParseKind(text)
		require.NoError(t, err)
		require.Equal(t, kind, got, text)
	}
	_, err := fleet.ParseKind("teapot")
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.ErrorContains(t, err, "permit_semaphore")
}
