package rlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

func TestQueriesSayWhatRedisKnows(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, name := cancellable(t), srv.Client(t), srv.Key(t, "lock")
		lock := rlock.New(client, name, quiet...)

		// state is what the queries answer to ctx: locked, holds, time left.
		state := func(ctx context.Context) (bool, int64, time.Duration) {
			t.Helper()
			locked, err := lock.IsLocked(ctx)
			require.NoError(t, err)
			holds, err := lock.HoldCount(ctx)
			require.NoError(t, err)
			ttl, err := lock.RemainingTTL(ctx)
			require.NoError(t, err)
			return locked, holds, ttl
		}
		locked, holds, ttl := state(ctx)
		require.False(t, locked)
		require.Zero(t, holds)
		require.Zero(t, ttl)

		outer := take(t, lock, ctx, redlatch.WithLease(time.Minute))
		inner := take(t, lock, outer.Context(ctx), redlatch.WithLease(time.Minute))
		locked, holds, ttl = state(inner.Context(ctx))
		require.True(t, locked)
		require.EqualValues(t, 2, holds)
		require.Greater(t, ttl, 30*time.Second)
		require.LessOrEqual(t, ttl, time.Minute)
		_, holds, _ = state(ctx)
		require.Zero(t, holds, "a context without the hold")
		_, holds, _ = state(redlatch.Detach(inner.Context(ctx)))
		require.Zero(t, holds, "a detached context")

		require.NoError(t, client.Persist(ctx, name).Err())
		_, _, ttl = state(ctx)
		require.Negative(t, ttl)
		require.NoError(t, outer.Unlock(ctx))
		_, holds, _ = state(context.WithoutCancel(inner.Context(ctx)))
		require.EqualValues(t, 1, holds)
		require.NoError(t, inner.Unlock(ctx))
	})
}

func TestInspectTellsWhoHolds(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, name := cancellable(t), srv.Client(t), srv.Key(t, "lock")
		mapper := redlatch.WithNameMapper(func(name string) string { return "app:" + name })
		lock := rlock.New(client, name, with(mapper)...)
		info, err := lock.Inspect(ctx)
		require.NoError(t, err)
		require.Equal(t, redlatch.Info{Name: name, Key: "app:" + name, Kind: "lock"}, info)

		begin := time.Now()
		outer := take(t, lock, ctx)
		inner := take(t, lock, outer.Context(ctx))
		info, err = lock.Inspect(ctx)
		require.NoError(t, err)
		require.True(t, info.Exists)
		require.Positive(t, info.TTL)
		require.Len(t, info.Holders, 1)
		since := info.Holders[0].Since
		require.False(t, since.Before(begin) || since.After(time.Now()))
		require.Equal(t, []redlatch.Holder{{Owner: outer.Owner(), Holds: 2, Own: true, TTL: info.TTL, Since: since}}, info.Holders)

		stranger := rlock.New(srv.Client(t), name, with(mapper)...)
		waits, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { _, err := stranger.Lock(waits); ended <- err }()
		eventually(t, "a waiter", func() bool {
			info, err = stranger.Inspect(ctx)
			require.NoError(t, err)
			return info.Waiters == 1
		})
		require.False(t, info.Holders[0].Own)
		require.Zero(t, info.Holders[0].Since, "only its own client knows")
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.NoError(t, inner.Unlock(ctx))
		require.NoError(t, outer.Unlock(ctx))
	})
}

func TestForceUnlockFreesWhoeverHolds(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, name := cancellable(t), srv.Key(t, "lock")
		lock, admin := rlock.New(srv.Client(t), name, quiet...), rlock.New(srv.Client(t), name, quiet...)
		freed, err := admin.ForceUnlock(ctx)
		require.NoError(t, err)
		require.False(t, freed)

		hold := take(t, lock, ctx, redlatch.WithWatchdogTimeout(3*time.Second))
		work := hold.Context(ctx)
		freed, err = admin.ForceUnlock(ctx)
		require.NoError(t, err)
		require.True(t, freed)
		next := take(t, admin, ctx)
		<-work.Done()
		require.ErrorIs(t, context.Cause(work), redlatch.ErrLost)
		require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
		require.True(t, next.Valid())
		require.NoError(t, next.Unlock(ctx))
	})
}

func TestQueriesOfABadNameSaySo(t *testing.T) {
	lock := rlock.New(redistest.Mini(t).Client(t), "", quiet...)
	ctx := t.Context()
	for name, query := range map[string]func() error{
		"IsLocked":     func() error { _, err := lock.IsLocked(ctx); return err },
		"HoldCount":    func() error { _, err := lock.HoldCount(ctx); return err },
		"RemainingTTL": func() error { _, err := lock.RemainingTTL(ctx); return err },
		"ForceUnlock":  func() error { _, err := lock.ForceUnlock(ctx); return err },
		"Inspect":      func() error { _, err := lock.Inspect(ctx); return err },
	} {
		require.ErrorIs(t, query(), redlatch.ErrInvalid, name)
	}
}

func TestQueriesOfAForeignKeyReportItsType(t *testing.T) {
	srv := redistest.Mini(t)
	client := srv.Client(t)
	require.NoError(t, client.Set(t.Context(), "lock", "precious", 0).Err())
	lock := rlock.New(client, "lock", quiet...)
	_, err := lock.ForceUnlock(t.Context())
	require.ErrorContains(t, err, "WRONGTYPE")
	require.Contains(t, err.Error(), `"lock"`)
	require.Equal(t, "precious", client.Get(t.Context(), "lock").Val())
	_, err = lock.Inspect(t.Context())
	require.True(t, err != nil && strings.Contains(err.Error(), "WRONGTYPE"), err)
}
