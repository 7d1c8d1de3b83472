package fleet_test

import (
	"context"
	"fmt"
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
	"github.com/redlatch/redlatch/internal/keys"
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

// list is fleet.List by key, which has to succeed and to have each key once.
func list(t testing.TB, client redis.UniversalClient, opts ...fleet.Option) (map[string]*fleet.Object, *fleet.Report) {
	t.Helper()
	report, err := fleet.List(t.Context(), client, opts...)
	require.NoError(t, err)
	objects := map[string]*fleet.Object{}
	for _, o := range report.Objects {
		require.Nil(t, objects[o.Key], o.Key)
		objects[o.Key] = o
	}
	return objects, report
}

// everyKind has one object of each kind held by clients of this library, and answers their names.
func everyKind(t *testing.T, name func(kind string) string, client func() redlatch.Client) map[redlatch.Kind]string {
	ctx := t.Context()
	names := map[redlatch.Kind]string{}
	for _, kind := range fleet.Kinds() {
		names[kind] = name(strings.ReplaceAll(string(kind), " ", "-"))
	}
	for kind, lock := range map[redlatch.Kind]locktest.Lock{
		redlatch.KindLock: rlock.New(client(), names[redlatch.KindLock]), redlatch.KindFairLock: fairlock.New(client(), names[redlatch.KindFairLock]),
		redlatch.KindFencedLock: fencedlock.New(client(), names[redlatch.KindFencedLock]), redlatch.KindSpinLock: spinlock.New(client(), names[redlatch.KindSpinLock]),
		redlatch.KindReadWriteLock: rwlock.New(client(), names[redlatch.KindReadWriteLock]), redlatch.KindGroupLock: multilock.NewGroup(client(), names[redlatch.KindGroupLock], []string{"a", "b"}),
	} {
		hold, err := lock.Lock(ctx)
		require.NoError(t, err, kind)
		unlockLater(t, hold)
	}
	hold, err := rwlock.New(client(), name("readers")).RLock(ctx)
	require.NoError(t, err)
	unlockLater(t, hold)

	s := semaphore.New(client(), names[redlatch.KindSemaphore])
	_, err = s.TrySetPermits(ctx, 5)
	require.NoError(t, err)
	require.NoError(t, s.Acquire(ctx, 2))
	p := permitsemaphore.New(client(), names[redlatch.KindPermitSemaphore])
	_, err = p.TrySetPermits(ctx, 5)
	require.NoError(t, err)
	permit, err := p.Acquire(ctx, 2, redlatch.WithLease(time.Hour))
	require.NoError(t, err)
	t.Cleanup(func() { _ = permit.Release(context.Background()) })
	_, err = countdownlatch.New(client(), names[redlatch.KindLatch]).TrySetCount(ctx, 3)
	require.NoError(t, err)
	return names
}

// sameAsGet compares what List says with what the primitive's Inspect says.
func sameAsGet(t testing.TB, client redis.UniversalClient, listed *fleet.Object) {
	t.Helper()
	got := get(t, client, listed.Kind, listed.Key)
	require.Equal(t, len(got.Info.Holders), len(listed.Info.Holders), listed.Key)
	for i := range got.Info.Holders { // times pass between the two
		require.InDelta(t, got.Info.Holders[i].TTL, listed.Info.Holders[i].TTL, float64(20*time.Second), listed.Key)
		got.Info.Holders[i].TTL, listed.Info.Holders[i].TTL = 0, 0
		got.Info.Holders[i].Since, listed.Info.Holders[i].Since = time.Time{}, time.Time{}
	}
	require.InDelta(t, got.Info.TTL, listed.Info.TTL, float64(20*time.Second))
	got.Info.TTL, listed.Info.TTL = 0, 0
	require.Equal(t, got.Info, listed.Info)
	require.Equal(t, holders(got), holders(listed))
	require.Equal(t, got.Waiting, listed.Waiting)
}

func TestListFindsEveryKindByWalkingASmallServer(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		names := everyKind(t, func(kind string) string { return srv.Key(t, kind) }, func() redlatch.Client { return srv.Client(t) })
		objects, report := list(t, client)
		require.Zero(t, report.Skipped)
		require.Empty(t, report.Missing())
		require.Empty(t, report.Unreadable)
		for kind, name := range names {
			o := objects[name]
			require.NotNil(t, o, kind)
			if kind == redlatch.KindSpinLock || kind == redlatch.KindFairLock { // nothing in Redis tells while nobody waits
				kind = redlatch.KindLock
			}
			require.Equal(t, kind, o.Kind, name)
			sameAsGet(t, client, o)
		}
		require.Len(t, report.Objects, len(names)+1)
	})
}

func TestListFindsByEntriesWhatItDoesNotWalk(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		prefix := srv.Key(t, "tenant") + ":"
		names := everyKind(t, func(kind string) string { return srv.Key(t, kind) }, func() redlatch.Client { return srv.Client(t) })
		objects, report := list(t, client, fleet.WithRegistry(prefix), fleet.WalkAtMost(0))
		require.Equal(t, report.Keys, report.Skipped)
		require.Positive(t, report.Skipped)
		require.Contains(t, report.Missing(), fmt.Sprintf("%d keys were not looked at", report.Keys))
		for _, name := range names {
			require.Nil(t, objects[name])
		}

		var things []registry.Thing
		for kind, name := range names {
			if kind == redlatch.KindReadWriteLock {
				kind = redlatch.KindWriteLock
			}
			things = append(things, registry.Thing{Kind: string(kind), Key: name, Holds: 1, HeldSince: 5})
		}
		gone := srv.Key(t, "gone")
		things = append(things, registry.Thing{Kind: "lock", Key: gone, Holds: 1, HeldSince: 5}, registry.Thing{Kind: "new kind", Key: gone, Holds: 1, HeldSince: 5})
		enter(t, client, prefix, ours, 0, webAbout, things...)
		objects, report = list(t, client, fleet.WithRegistry(prefix), fleet.WalkAtMost(0))
		for kind, name := range names {
			require.NotNil(t, objects[name], kind)
			require.Equal(t, kind, objects[name].Kind)
			require.True(t, objects[name].Info.Exists, kind)
			require.Len(t, objects[name].Unconfirmed, 1, kind)
			sameAsGet(t, client, objects[name])
		}
		require.False(t, objects[gone].Info.Exists)
		require.Equal(t, ours, objects[gone].Unconfirmed[0].Client.ID)
		require.Len(t, report.Clients, 1)
		require.Len(t, report.Clients[0].Objects, len(names)+2)
	})
}

func TestListFindsByTheirChannelsWhatOthersWaitFor(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, listening := srv.Client(t), srv.Client(t)
		ctx := t.Context()
		name := func(base string) string { return srv.Key(t, base) }
		lock, fair, rw, sem, latch, unset := name("lock"), name("fair"), name("rw"), name("sem"), name("latch"), name("unset")
		braced := "{" + name("braced") + "}"
		for _, key := range []string{lock, fair, braced} {
			require.NoError(t, client.HSet(ctx, key, java+":42", 1).Err())
		}
		require.NoError(t, client.HSet(ctx, rw, "mode", "read", java+":42", 1).Err())
		require.NoError(t, client.MSet(ctx, sem, 0, latch, 2).Err())
		require.NoError(t, client.RPush(ctx, keys.FairQueue(fair), java+":7").Err())
		for _, channel := range []string{keys.LockChannel(lock), keys.LockChannel(braced), keys.LockChannel(fair) + ":" + java + ":7", keys.ReadWriteChannel(rw),
			keys.SemaphoreChannel(sem), keys.SemaphoreChannel(unset), keys.LatchChannel(latch), "redisson_other:{x}", "redisson_sc:"} {
			subscribe(t, listening, channel)
		}
		objects, report := list(t, client, fleet.WithRegistry(name("none")), fleet.WalkAtMost(0))
		for key, kind := range map[string]redlatch.Kind{lock: redlatch.KindLock, braced: redlatch.KindLock, fair: redlatch.KindFairLock, rw: redlatch.KindReadWriteLock, sem: redlatch.KindSemaphore,
			unset: redlatch.KindSemaphore, latch: redlatch.KindLatch} {
			require.NotNil(t, objects[key], "%s %v", key, objects)
			require.Equal(t, kind, objects[key].Kind, key)
			if kind != redlatch.KindFairLock {
				require.EqualValues(t, 1, objects[key].Waiting.Outsiders, key)
			}
		}
		require.False(t, objects[unset].Info.Exists)
		require.Equal(t, java, objects[fair].Waiting.Processes[0].ClientID)
		require.Len(t, report.Objects, 7)
	})
}

func TestAWalkTakesNothingOfOthersForALock(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client := srv.Client(t)
		ctx := t.Context()
		name := func() string { return srv.Key(t, "foreign") }
		counter := name()
		require.NoError(t, client.Set(ctx, counter, 7, 0).Err())
		require.NoError(t, client.Set(ctx, "{"+counter+"}:timeout", 30, 0).Err()) // not the sorted set of a semaphore
		require.NoError(t, client.HSet(ctx, name(), "a", 1).Err())
		require.NoError(t, client.HSet(ctx, name(), java+":42", 1, "more", 1).Err())
		require.NoError(t, client.HSet(ctx, name(), java+":42", "x").Err())
		require.NoError(t, client.HSet(ctx, name(), "mode", "dark").Err())
		require.NoError(t, client.HSet(ctx, name(), java, 1).Err())
		require.NoError(t, client.SAdd(ctx, name(), java+":42").Err())
		require.NoError(t, client.Set(ctx, "redlatch_lanes:{x", 1, 0).Err())
		many := []any{}
		for i := range 5000 {
			many = append(many, fmt.Sprintf("%s:%d", java, i), 1)
		}
		require.NoError(t, client.HSet(ctx, name(), many...).Err(), "larger than a lock can be")
		lock := srv.Key(t, "lock")
		require.NoError(t, client.HSet(ctx, lock, many[:4000]...).Err())
		_, report := list(t, client)
		require.Len(t, report.Objects, 1)
		require.Equal(t, lock, report.Objects[0].Key)
		require.Len(t, report.Objects[0].Holders, 2000)
		if srv.Real {
			require.Positive(t, srv.CommandStats(t)["scan"])
		}
	})
}

func TestAnEntryThatNamesAKeyOfAnotherKindIsTold(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, prefix := srv.Client(t), srv.Key(t, "tenant")+":"
		text, rw, large := srv.Key(t, "text"), srv.Key(t, "rw"), srv.Key(t, "large")
		require.NoError(t, client.Set(t.Context(), text, "x", 0).Err())
		require.NoError(t, client.HSet(t.Context(), rw, "mode", "read", java+":42", 1).Err())
		many := []any{}
		for i := range 5000 {
			many = append(many, fmt.Sprintf("%s:%d", java, i), 1)
		}
		require.NoError(t, client.HSet(t.Context(), large, many...).Err())
		enter(t, client, prefix, ours, 0, webAbout, registry.Thing{Kind: "lock", Key: text, Holds: 1, HeldSince: 5},
			registry.Thing{Kind: "semaphore", Key: rw, Holds: 1, HeldSince: 5}, registry.Thing{Kind: "lock", Key: large, Holds: 1, HeldSince: 5})
		report, err := fleet.List(t.Context(), client, fleet.WithRegistry(prefix), fleet.WalkAtMost(0))
		require.NoError(t, err)
		said := map[string]string{}
		for _, o := range report.Objects {
			for _, u := range o.Unreadable {
				require.False(t, o.Info.Exists)
				require.Empty(t, o.Holders)
				require.Len(t, o.Unconfirmed, 1)
				said[u.Key] = u.Detail
			}
		}
		require.Equal(t, map[string]string{text: "is a string of another program, not a lock", rw: "is a read-write lock, not a semaphore",
			large: "is a hash of another program, not a lock"}, said)
	})
}

func TestListReadsAllMastersOfACluster(t *testing.T) {
	servers := redistest.Cluster(t, 3, 0)
	client := servers.Client(t)
	names := everyKind(t, func(kind string) string { return kind + "-1" }, func() redlatch.Client { return servers.Client(t) })
	for i := range 60 {
		require.NoError(t, client.HSet(t.Context(), fmt.Sprintf("java-%d", i), java+":42", 1).Err())
	}
	objects, report := list(t, client)
	require.Len(t, report.Objects, len(names)+61)
	for kind, name := range names {
		require.NotNil(t, objects[name], kind)
		sameAsGet(t, client, objects[name])
	}
	require.GreaterOrEqual(t, report.Keys, int64(70))
	require.Equal(t, []string{"Redisson client " + java + "  1"}, holders(objects["java-59"]))

	sub := client.SSubscribe(t.Context(), keys.LockChannel("java-7"))
	t.Cleanup(func() { _ = sub.Close() })
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	enter(t, client, "", ours, 0, webAbout, registry.Thing{Kind: "lock", Key: "java-8", Waiters: 1, WaitingSince: 5})
	objects, report = list(t, client, fleet.WalkAtMost(10))
	require.Len(t, objects, 2)
	require.EqualValues(t, 1, objects["java-7"].Waiting.Outsiders)
	require.Equal(t, report.Keys, report.Skipped)
}

func TestAWalkEndsWithItsContext(t *testing.T) {
	srv := redistest.Real(t)
	client := srv.Client(t)
	populate(t, client, 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := fleet.List(ctx, client, fleet.WithScan(), fleet.WalkAtMost(0))
		ended <- err
	}()
	redistest.Eventually(t, "the walk has begun", func() bool { return srv.CommandStats(t)["scan"] > 2 })
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Less(t, srv.CommandStats(t)["scan"], int64(500))
}

func TestAPermitThatHasExpiredIsListedAsAvailable(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, name := srv.Client(t), srv.Key(t, "permits")
		at := float64(now(t, client))
		require.NoError(t, client.Set(t.Context(), name, 3, 0).Err())
		require.NoError(t, client.ZAdd(t.Context(), keys.PermitTimeouts(name), redis.Z{Member: "expired", Score: at - 1}, redis.Z{Member: "held", Score: at + 60_000},
			redis.Z{Member: "for ever", Score: 922337203685477}).Err())
		objects, _ := list(t, client)
		o := objects[name]
		require.EqualValues(t, 4, o.Info.Value)
		require.EqualValues(t, 6, o.Info.Total)
		require.Len(t, o.Holders, 2)
		sameAsGet(t, client, o)
	})
}
