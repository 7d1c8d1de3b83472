package multilock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

const (
	jack = "7pNoDdizVy2xY792MaFv+w" // Jack_001, as Redisson hashes it
	mary = "kIX2DFOX4IWct7G7K6tV9A" // Mary_002
)

func TestAGroupLooksToRedissonAsItsOwnDoes(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := cancellable(t), srv.Client(t)
		key := srv.Key(t, "group")
		lock := multilock.NewGroup(client, key, []string{"Mary_002", "Jack_001", "Mary_002"}, quiet...)
		require.Equal(t, []string{"Jack_001", "Mary_002"}, lock.Values())
		hold := take(t, lock, ctx)
		fields, err := client.HGetAll(ctx, key).Result()
		require.NoError(t, err)
		for _, h := range []string{jack, mary} {
			require.Equal(t, hold.Owner(), fields[h])
			require.Equal(t, "1", fields[h+":"+hold.Owner()+":lock_count"])
			require.Len(t, fields[h+":"+hold.Owner()+":expire_time"], 13, "milliseconds since 1970, written out")
		}
		require.Len(t, fields, 6)

		// What Redisson would do that has another value, and then one of these.
		java := "b983c153-7421-469a-addb-44fb92259a1b:42"
		future := time.Now().Add(time.Hour).UnixMilli()
		require.NoError(t, client.HSet(ctx, key, "other", java, "other:"+java+":expire_time", future, "other:"+java+":lock_count", 1).Err())
		require.NoError(t, hold.Unlock(ctx))
		require.EqualValues(t, 3, client.HLen(ctx, key).Val(), "its fields are left alone")
		require.NoError(t, client.HSet(ctx, key, mary, java, mary+":"+java+":expire_time", future, mary+":"+java+":lock_count", 1).Err())
		refused(t, lock, ctx)
		require.EqualValues(t, 6, client.HLen(ctx, key).Val(), "all or none")
		freed, err := lock.ForceUnlock(ctx)
		require.NoError(t, err)
		require.True(t, freed)
		free(t, lock)
		require.NoError(t, client.Del(ctx, key).Err())
	})
}

func TestAllValuesAreOneRoundTrip(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := cancellable(t), srv.Client(t)
		lock := multilock.NewGroup(client, srv.Key(t, "group"), strings.Split("a b c d e f g h", " "), quiet...)
		require.NoError(t, take(t, lock, ctx).Unlock(ctx)) // the server knows the scripts from here on
		sent := func() int64 { stats := srv.CommandStats(t); return stats["evalsha"] + stats["eval"] }
		before := sent()
		hold := take(t, lock, ctx)
		require.EqualValues(t, 1, sent()-before)
		require.NoError(t, hold.Unlock(ctx))
		require.EqualValues(t, 2, sent()-before)
	})
}

func TestGroupsThatShareNoValueDoNotTouchEachOther(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := cancellable(t), srv.Client(t), srv.Key(t, "group")
		group := func(values ...string) *multilock.Group { return multilock.NewGroup(client, key, values, quiet...) }
		ab := take(t, group("a", "b"), ctx)
		waiting, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { _, err := group("b", "c").Lock(waiting); ended <- err }()
		eventually(t, "somebody waits", func() bool {
			info, err := group("c", "b").Inspect(ctx) // the order of values means nothing
			return err == nil && info.Waiters == 1
		})
		c := take(t, group("c"), ctx) // not behind who waits for b
		refused(t, group("a"), ctx)
		refused(t, group("b", "d"), ctx)
		require.NoError(t, c.Unlock(ctx))
		stop()
		require.ErrorIs(t, <-ended, redlatch.ErrNotAcquired)
		require.NoError(t, ab.Unlock(ctx))
		// What the waiter asked last may be executed only now, and is taken back then.
		eventually(t, "all are free", func() bool {
			hold, err := group("a", "b", "c", "d").TryLock(ctx)
			return err == nil && hold.Unlock(ctx) == nil
		})
	})
}

func TestThePartOfAHeldSetIsReenteredAndAnOverlapIsRefused(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := cancellable(t), srv.Client(t), srv.Key(t, "group")
		group := func(values ...string) *multilock.Group { return multilock.NewGroup(client, key, values, quiet...) }
		hold := take(t, group("a", "b"), ctx)
		work := hold.Context(ctx)
		_, err := group("b", "c").Lock(work)
		require.ErrorIs(t, err, redlatch.ErrNotReentrant)
		count, err := group("b", "c").HoldCount(work)
		require.NoError(t, err)
		require.Zero(t, count)
		part := take(t, group("b"), work)
		require.Equal(t, hold.Owner(), part.Owner())
		count, err = group("a", "b").HoldCount(work)
		require.NoError(t, err)
		require.EqualValues(t, 2, count)
		apart := take(t, group("c"), part.Context(work)) // nothing in common
		require.NotEqual(t, hold.Owner(), apart.Owner())
		require.NoError(t, hold.Unlock(ctx))
		refused(t, group("a"), ctx) // the set stays until its last hold
		refused(t, group("b"), ctx)
		require.NoError(t, part.Unlock(ctx))
		free(t, group("a", "b"))
		refused(t, group("c"), ctx)
		require.NoError(t, apart.Unlock(ctx))
		require.Zero(t, client.Exists(ctx, key).Val())
	})
}

// The lock that was acquired first has options too, which say nothing about who takes its values again.
func TestWhoTakesHeldValuesAgainDoesSoOnTermsOfItsOwn(t *testing.T) {
	for what, values := range map[string][]string{"all": {"a", "b"}, "a part": {"b"}} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(p *pair) {
				ctx, lease := p.Context(), redlatch.WithLease(2*time.Second)
				group := func(values []string, opts ...redlatch.Option) *multilock.Group {
					return multilock.NewGroup(p.client, "group", values, with(opts...)...)
				}
				outer := p.now(group([]string{"a", "b"}))
				inner, err := group(values, lease).Lock(outer.Context(ctx))
				require.NoError(p, err)
				time.Sleep(3 * time.Second)
				require.False(p, inner.Valid())
				require.True(p, outer.Valid())
				require.ErrorIs(p, inner.Unlock(ctx), redlatch.ErrLost)
				require.NoError(p, outer.Unlock(ctx))

				outer = p.now(group([]string{"a", "b"}, lease))
				inner, err = group(values).Lock(outer.Context(ctx))
				require.NoError(p, err)
				time.Sleep(time.Minute)
				require.True(p, inner.Valid())
				require.ErrorIs(p, outer.Unlock(ctx), redlatch.ErrLost)
				require.NoError(p, inner.Unlock(ctx))
				require.Zero(p, p.client.Exists(ctx, "group").Val())
			})
		})
	}
}

// Redisson renews the values of the first lock of a group and client only.
func TestEveryHoldOfAGroupIsRenewedWithExactlyItsValues(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := cancellable(t), srv.Client(t), srv.Key(t, "group")
		const timeout = 3 * time.Second
		opts := with(redlatch.WithWatchdogTimeout(timeout))
		ab := take(t, multilock.NewGroup(client, key, []string{"a", "b"}, opts...), ctx)
		c := take(t, multilock.NewGroup(client, key, []string{"c"}, opts...), ctx)
		fixed := take(t, multilock.NewGroup(client, key, []string{"d"}, opts...), ctx, redlatch.WithLease(300*time.Millisecond))
		until := ab.Until().Add(timeout)
		eventually(t, "renewals", func() bool { return ab.Until().After(until) && c.Until().After(until) })
		info, err := multilock.NewGroup(client, key, []string{"a", "b", "c", "d"}).Inspect(ctx)
		require.NoError(t, err)
		require.Len(t, info.Holders, 3, "d is free")
		for i, owner := range []string{ab.Owner(), ab.Owner(), c.Owner()} {
			require.Equal(t, owner, info.Holders[i].Owner)
			require.Equal(t, []string{"a", "b", "c"}[i], info.Holders[i].Value)
			require.True(t, info.Holders[i].Own)
		}
		require.ErrorIs(t, fixed.Unlock(ctx), redlatch.ErrLost)
		require.NoError(t, ab.Unlock(ctx))
		require.NoError(t, c.Unlock(ctx))
		require.Zero(t, client.Exists(ctx, key).Val())
	})
}

func TestTheLossOfOneValueIsTheLossOfTheHold(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := cancellable(t), srv.Client(t), srv.Key(t, "group")
		both := multilock.NewGroup(client, key, []string{"a", "b"}, with(redlatch.WithWatchdogTimeout(3*time.Second))...)
		hold := take(t, both, ctx)
		work := hold.Context(ctx)
		freed, err := multilock.NewGroup(client, key, []string{"b"}, quiet...).ForceUnlock(ctx)
		require.NoError(t, err)
		require.True(t, freed)
		select {
		case <-work.Done():
		case <-time.After(patience):
			t.Fatal("the loss was not noticed")
		}
		require.ErrorIs(t, context.Cause(work), redlatch.ErrLost)
		require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
		require.Zero(t, client.Exists(ctx, key).Val(), "the other value is free too")
	})
}

// KF-22. The release of the reader would count a deadline of the group down, and the server do nothing else for hours.
func TestALockOfAnotherKindOfTheSameNameIsNotShared(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := cancellable(t), srv.Client(t)
		for kind, of := range map[string]func(name string) redlatch.Locker{
			"plain":   func(name string) redlatch.Locker { return rlock.New(client, name, quiet...) },
			"reading": func(name string) redlatch.Locker { return rwlock.New(client, name, quiet...).Reader() },
			"writing": func(name string) redlatch.Locker { return rwlock.New(client, name, quiet...).Writer() },
		} {
			name := srv.Key(t, "lock")
			other, group := of(name), multilock.NewGroup(srv.Client(t), name, []string{"Jack_001"}, quiet...)
			hold := take(t, other, ctx)
			for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){group.Lock, group.TryLock} {
				_, err := ask(ctx)
				require.ErrorContains(t, err, "another kind", kind)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
			}
			require.NoError(t, hold.Unlock(ctx), kind)
			hold = take(t, group, ctx)
			_, err := other.TryLock(ctx)
			require.Error(t, err, kind)
			require.True(t, hold.Valid())
			require.NoError(t, hold.Unlock(ctx))
			require.Empty(t, client.Exists(ctx, name).Val())
		}
	})
}

func TestAGroupOfNoValuesIsRefused(t *testing.T) {
	srv := redistest.Mini(t)
	ctx := cancellable(t)
	lock := multilock.NewGroup(srv.Client(t), "group", nil, quiet...)
	_, err := lock.Lock(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	_, err = lock.TryLock(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	_, err = lock.ForceUnlock(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	_, err = lock.IsLocked(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	_, err = lock.HoldCount(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	_, err = lock.RemainingTTL(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	_, err = lock.Inspect(ctx)
	require.ErrorIs(t, err, redlatch.ErrInvalid)
}

func TestALostReplyOfAGroupTakesEffectOnce(t *testing.T) {
	for what, action := range map[string]faultproxy.Action{
		"reply lost": faultproxy.DropReply, "closed after": faultproxy.CloseAfter, "closed before": faultproxy.CloseBefore,
	} {
		t.Run(what, func(t *testing.T) {
			srv := redistest.Process(t)
			ctx := cancellable(t)
			proxy := faultproxy.New(t, srv.Addr)
			client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: 100 * time.Millisecond})
			t.Cleanup(func() { _ = client.Close() })
			lock := multilock.NewGroup(client, "group", []string{"Jack_001", "Mary_002"}, quiet...)
			require.NoError(t, take(t, lock, ctx).Unlock(ctx))
			harm := func() { proxy.On(faultproxy.Named("EVALSHA"), 1, action) }
			harm()
			hold := take(t, lock, ctx)
			harm()
			inner := take(t, lock, hold.Context(ctx))
			count, err := lock.HoldCount(inner.Context(ctx))
			require.NoError(t, err)
			require.EqualValues(t, 2, count)
			harm()
			require.NoError(t, inner.Unlock(ctx))
			count, err = lock.HoldCount(hold.Context(ctx))
			require.NoError(t, err)
			require.EqualValues(t, 1, count)
			harm()
			require.NoError(t, hold.Unlock(ctx))
			require.Empty(t, srv.Keys(t))
		})
	}
}
