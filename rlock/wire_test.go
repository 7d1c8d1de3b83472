package rlock_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// The plain lock as a Redisson process sees it.
func TestTheLockLooksAsRedissonMakesIt(t *testing.T) {
	for name, channel := range map[string]string{
		"myLock":       "redisson_lock__channel:{myLock}",
		"{tag}:myLock": "redisson_lock__channel:{tag}:myLock",
	} {
		redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
			ctx, client := cancellable(t), srv.Client(t)
			srv.Flush(t)
			messages := client.Subscribe(ctx, channel)
			defer messages.Close()
			_, err := messages.Receive(ctx)
			require.NoError(t, err)

			lock := rlock.New(client, name, quiet...)
			outer := take(t, lock, ctx)
			require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+$`), outer.Owner())
			inner := take(t, lock, outer.Context(ctx))
			require.Equal(t, []string{name}, srv.Keys(t))
			require.Equal(t, map[string]string{outer.Owner(): "2"}, client.HGetAll(ctx, name).Val())
			ttl := client.PTTL(ctx, name).Val()
			require.LessOrEqual(t, ttl, 30*time.Second)
			require.Greater(t, ttl, 20*time.Second)

			require.NoError(t, inner.Unlock(ctx))
			require.Equal(t, map[string]string{outer.Owner(): "1"}, client.HGetAll(ctx, name).Val())
			require.NoError(t, outer.Unlock(ctx))
			require.Empty(t, srv.Keys(t))

			// One message, for the last release.
			require.NoError(t, client.Publish(ctx, channel, "next").Err())
			var payloads []string
			for !slices.Contains(payloads, "next") {
				message, err := messages.ReceiveTimeout(ctx, patience)
				require.NoError(t, err)
				payloads = append(payloads, message.(*redis.Message).Payload)
			}
			require.Equal(t, []string{"0", "next"}, payloads)
		})
	}
}

func TestALockOfRedissonIsRespected(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, name := cancellable(t), srv.Client(t), srv.Key(t, "lock")
		const java = "b983c153-7421-469a-addb-44fb92259a1b:42"
		require.NoError(t, client.HSet(ctx, name, java, 2).Err())
		require.NoError(t, client.PExpire(ctx, name, time.Minute).Err())

		lock := rlock.New(client, name, with(redlatch.WithPoll(time.Hour))...)
		_, err := lock.TryLock(ctx)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		got := make(chan error, 1)
		go func() { got <- lock.Do(ctx, func(context.Context) error { return nil }) }()
		channel := "redisson_lock__channel:{" + name + "}"
		eventually(t, "a subscription", func() bool { return client.PubSubNumSub(ctx, channel).Val()[channel] == 1 })

		// Its first unlock leaves one hold, the second frees the lock and says so.
		require.EqualValues(t, 1, client.HIncrBy(ctx, name, java, -1).Val())
		require.NoError(t, client.Del(ctx, name).Err())
		require.NoError(t, client.Publish(ctx, channel, "0").Err())
		select {
		case err := <-got:
			require.NoError(t, err)
		case <-time.After(patience):
			t.Fatal("the message of Redisson woke nobody")
		}
	})
}

func TestBothKindsShareTheirKeys(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, name := cancellable(t), srv.Client(t), srv.Key(t, "lock")
		hold := take(t, rlock.New(client, name, quiet...), ctx)
		once := rlock.NewNonReentrant(client, name, quiet...)
		_, err := once.TryLock(ctx)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		_, err = once.Lock(hold.Context(ctx))
		require.ErrorIs(t, err, redlatch.ErrNotReentrant)
		require.NoError(t, hold.Unlock(ctx))
	})
}

// One command to take, one to re-enter, one to give back, whichever way they are sent.
func TestEachStepIsOneCommand(t *testing.T) {
	for name, parent := range map[string]func(testing.TB) context.Context{
		"cancellable": cancellable,
		"background":  func(testing.TB) context.Context { return context.Background() },
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				ctx, client := parent(t), srv.Client(t)
				lock := rlock.New(client, srv.Key(t, "lock"), quiet...)
				var outer, inner *redlatch.Hold
				run := func(step func()) int64 {
					before := srv.Scripts(t)
					step()
					return srv.Scripts(t) - before
				}
				cycle := func() [4]int64 {
					return [4]int64{
						run(func() { outer = take(t, lock, ctx) }),
						run(func() { inner = take(t, lock, outer.Context(ctx)) }),
						run(func() { require.NoError(t, inner.Unlock(ctx)) }),
						run(func() { require.NoError(t, outer.Unlock(ctx)) }),
					}
				}
				cycle() // the server learns the scripts
				require.Equal(t, [4]int64{1, 1, 1, 1}, cycle())
				other := rlock.New(srv.Client(t), lock.Name(), quiet...)
				hold := take(t, other, ctx)
				require.EqualValues(t, 1, run(func() {
					_, err := lock.TryLock(ctx)
					require.ErrorIs(t, err, redlatch.ErrNotAcquired)
				}), "a refused try")
				require.NoError(t, hold.Unlock(ctx))
			})
		})
	}
}

// An idle waiter costs a command per poll interval at most, and many cost no more than one.
func TestWaitersOfOneProcessAskAsOne(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		m, client := redistest.InMemory(t)
		var scripts atomic.Int64
		m.Server().SetPreHook(func(_ *server.Peer, command string, _ ...string) bool {
			if strings.HasPrefix(strings.ToUpper(command), "EVAL") {
				scripts.Add(1)
			}
			return false
		})
		holder := take(t, rlock.New(client, "lock", quiet...), t.Context())
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		lock := rlock.New(other, "lock", with(redlatch.WithPoll(time.Hour))...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 50)
		for range cap(done) {
			go func() { _, err := lock.Lock(ctx); done <- err }()
		}
		time.Sleep(time.Second) // all first questions have their answers
		info, err := lock.Inspect(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, cap(done), info.Waiters)

		before := scripts.Load()
		for range 3 {
			require.NoError(t, client.Publish(t.Context(), "redisson_lock__channel:{lock}", "0").Err())
		}
		time.Sleep(time.Second)
		asked := scripts.Load() - before
		require.Positive(t, asked, "a message wakes the head")
		require.LessOrEqual(t, asked, int64(3), "the head alone asks")
		cancel()
		for range cap(done) {
			require.ErrorIs(t, <-done, context.Canceled)
		}
		require.NoError(t, holder.Unlock(t.Context()))
	})
}
