package fencedlock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/faultproxy"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/redistest"
	rows "github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/rlock"
)

func lastToken(t *testing.T, lock *fencedlock.Lock) int64 {
	t.Helper()
	last, err := lock.LastToken(t.Context())
	require.NoError(t, err)
	return last
}

func TestEveryHoldOfAnOwnerHasItsNewestToken(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		lock := fencedlock.New(client, srv.Key(t, "lock"))
		require.Zero(t, lastToken(t, lock))
		outer, err := lock.Lock(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, outer.Token())
		inner, err := lock.Lock(outer.Context(ctx))
		require.NoError(t, err)
		require.EqualValues(t, 2, inner.Token())
		require.EqualValues(t, 2, outer.Token(), "it does not become old by its own re-entry")
		require.EqualValues(t, 2, lastToken(t, lock))

		require.NoError(t, inner.Unlock(ctx))
		require.EqualValues(t, 2, outer.Token())
		require.NoError(t, outer.Extend(ctx, time.Hour))
		require.NoError(t, outer.Unlock(ctx))
		require.Equal(t, []string{tokenKey(lock.Name())}, srv.Keys(t))
		require.EqualValues(t, -1, client.TTL(ctx, tokenKey(lock.Name())).Val(), "the token lives for ever")
		require.EqualValues(t, 2, lastToken(t, lock))
	})
}

func TestForceUnlockAndLossLeaveTheTokens(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		lock := fencedlock.New(client, srv.Key(t, "lock"))
		lost, err := lock.Lock(ctx)
		require.NoError(t, err)
		_, err = lock.ForceUnlock(ctx)
		require.NoError(t, err)
		next, err := lock.Lock(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 2, next.Token())
		require.ErrorIs(t, lost.Unlock(ctx), redlatch.ErrLost)
		require.EqualValues(t, 1, lost.Token(), "an old token stays what it is")
		require.EqualValues(t, 2, lastToken(t, lock))
		require.NoError(t, next.Unlock(ctx))
	})
}

// In Redisson lockAndGetToken with a lease ignores the lease.
func TestAFencedLockHonoursItsLease(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		lock := fencedlock.New(srv.Client(t), srv.Key(t, "lock"))
		hold, err := lock.Lock(t.Context(), redlatch.WithLease(time.Hour))
		require.NoError(t, err)
		ttl, err := lock.RemainingTTL(t.Context())
		require.NoError(t, err)
		require.Greater(t, ttl, 50*time.Minute)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// A token may be left out only if the lock was passed with it, to a process whose last waiter had just been served by a
// hold of another goroutine: that one gives it back.
func TestTokensIncreaseInTheOrderOfGrantsAcrossProcesses(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		name := srv.Key(t, "lock")
		passes := srv.Client(t).PSubscribe(t.Context(), keys.LockRow(name)+":*")
		defer passes.Close()
		_, err := passes.Receive(t.Context())
		require.NoError(t, err)
		var (
			granted []int64 // the lock guards it
			all     sync.WaitGroup
		)
		for range 3 {
			lock := fencedlock.New(srv.Client(t), name)
			for range 3 {
				all.Go(func() {
					for range 15 {
						hold, err := lock.Lock(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						granted = append(granted, hold.Token())
						if err := hold.Unlock(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		all.Wait()
		require.Len(t, granted, 3*3*15)
		const end = "end"
		require.NoError(t, srv.Client(t).Publish(t.Context(), keys.LockRow(name)+":"+end, end).Err())
		passed := map[int64]bool{}
		for {
			message, err := passes.ReceiveMessage(t.Context())
			require.NoError(t, err)
			if message.Payload == end {
				break
			}
			told, ok := rows.Read(message.Payload)
			require.True(t, ok, message.Payload)
			passed[told.Token] = true
		}
		next := int64(1)
		for _, token := range granted {
			for ; next < token; next++ {
				require.True(t, passed[next], "token %d is left out, and nothing was lost", next)
			}
			require.Equal(t, next, token)
			next++
		}
	})
}

func TestEveryOperationIsOneCommand(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		lock := fencedlock.New(srv.Client(t), srv.Key(t, "lock"))
		cycle := func(after func(what string)) {
			outer, err := lock.Lock(ctx)
			require.NoError(t, err)
			after("acquire")
			inner, err := lock.Lock(outer.Context(ctx))
			require.NoError(t, err)
			after("re-enter")
			require.NoError(t, inner.Unlock(ctx))
			after("partial release")
			require.NoError(t, outer.Unlock(ctx))
			after("release")
			lastToken(t, lock)
			after("last token")
		}
		cycle(func(string) {}) // the server knows the scripts from here on
		calls := func() int64 {
			stats := srv.CommandStats(t)
			return stats["eval"] + stats["evalsha"]
		}
		want := calls()
		cycle(func(what string) {
			want++
			require.Equal(t, want, calls(), what)
		})
	})
}

func TestTheTokenOfAPlainHoldIsNotHandedOut(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		name := srv.Key(t, "lock")
		plain, err := rlock.New(client, name).Lock(ctx)
		require.NoError(t, err)
		lock := fencedlock.New(client, name)
		for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){lock.Lock, lock.TryLock} {
			_, err = ask(plain.Context(ctx))
			require.ErrorIs(t, err, redlatch.ErrInvalid)
			require.ErrorContains(t, err, "another kind")
		}
		require.Equal(t, map[string]string{plain.Owner(): "1"}, client.HGetAll(ctx, name).Val())
		require.NoError(t, plain.Unlock(ctx))
	})
}

// harmed is a lock whose commands go through a proxy. The server knows the scripts.
func harmed(t *testing.T) (*redistest.Server, *faultproxy.Proxy, *fencedlock.Lock) {
	srv := redistest.Process(t)
	proxy := faultproxy.New(t, srv.Addr)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ReadTimeout: 2 * time.Second})
	t.Cleanup(func() { _ = client.Close() })
	lock := fencedlock.New(client, "lock", redlatch.WithLinger(0))
	require.NoError(t, lock.Do(t.Context(), func(ctx context.Context) error {
		return lock.Do(ctx, func(context.Context) error { return nil })
	}))
	return srv, proxy, lock
}

func TestALostReplyAnswersTheTokenOfTheFirstExecution(t *testing.T) {
	srv, proxy, lock := harmed(t)
	ctx := t.Context()
	start := lastToken(t, lock)
	for i, harm := range []faultproxy.Action{faultproxy.DropReply, faultproxy.ResetAfter, faultproxy.CloseBefore} {
		before := start + 2*int64(i)
		rule := proxy.On(faultproxy.Named("EVALSHA"), 1, harm)
		outer, err := lock.Lock(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, rule.Hits())
		require.Equal(t, before+1, outer.Token())
		require.Equal(t, before+1, lastToken(t, lock))

		rule = proxy.On(faultproxy.Named("EVALSHA"), 1, harm)
		inner, err := lock.Lock(outer.Context(ctx))
		require.NoError(t, err)
		require.Equal(t, 1, rule.Hits())
		require.Equal(t, before+2, inner.Token())
		require.Equal(t, before+2, outer.Token())
		require.Equal(t, before+2, lastToken(t, lock))
		require.NoError(t, inner.Unlock(ctx))
		require.NoError(t, outer.Unlock(ctx))
	}
	require.Equal(t, []string{tokenKey("lock")}, srv.Keys(t))
}

// A re-entry that is executed after its caller left issues a token that nobody has. The holder goes on with its own,
// and the next token it is given is one that nobody else ever had.
func TestAGhostOfAReentryMakesNoTokenGoBackOrRepeat(t *testing.T) {
	srv, proxy, lock := harmed(t)
	outer, err := lock.Lock(t.Context())
	require.NoError(t, err)
	mine := outer.Token()

	ghost := proxy.On(faultproxy.Named("EVALSHA"), 1, faultproxy.Hold)
	ctx, cancel := context.WithCancel(outer.Context(t.Context()))
	result := make(chan error, 1)
	go func() {
		_, err := lock.Lock(ctx)
		result <- err
	}()
	ghost.AwaitHits(t, 1)
	cancel()
	require.ErrorIs(t, <-result, context.Canceled)
	ghost.Release()
	ghost.AwaitExecuted(t, 1)
	require.Equal(t, mine+1, lastToken(t, lock))
	require.Equal(t, mine, outer.Token())

	inner, err := lock.Lock(outer.Context(t.Context()))
	require.NoError(t, err)
	require.Equal(t, mine+1, inner.Token(), "issued for this owner, and handed out only now")
	require.NoError(t, inner.Unlock(t.Context()))
	require.NoError(t, outer.Unlock(t.Context()))
	next, err := lock.Lock(t.Context())
	require.NoError(t, err)
	require.Equal(t, mine+2, next.Token())
	require.NoError(t, next.Unlock(t.Context()))
	require.Eventually(t, func() bool { return len(srv.Keys(t)) == 1 }, time.Minute, 5*time.Millisecond)
}
