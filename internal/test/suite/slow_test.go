package suite_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

func TestASlowWaitAsksOnceAMinute(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		hold := acquired(t, rlock.New(other, "lock"))
		time.Sleep(2 * time.Second)
		sent := &questions{}
		client.AddHook(sent)
		unlisted := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = unlisted.Close() })
		unlisted.AddHook(sent)
		require.NoError(t, redlatch.Configure(unlisted, redlatch.WithoutRegistry()))
		wait := func(opts ...redlatch.Option) {
			_, err := rlock.New(client, "lock", briefly.Linger(0)).Lock(t.Context(), append(opts, redlatch.WithWait(900*time.Millisecond))...)
			require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			time.Sleep(100 * time.Millisecond)
		}
		asked := func(lock, registry int64) {
			t.Helper()
			require.Equal(t, []int64{lock, registry}, []int64{sent.lock.Load(), sent.registry.Load()})
		}
		var seen slowness
		slow, fast := redlatch.WithSlowWait(500*time.Millisecond), redlatch.WithSlowWait(time.Second)
		wait(seen.option())
		wait(fast, seen.option())
		wait(slow, redlatch.WithObserver(nil))
		asked(0, 0)
		wait(slow, seen.option())
		asked(1, 1)
		for range 58 {
			wait(slow, seen.option())
		}
		asked(1, 1)
		wait(slow, seen.option())
		wait(slow, seen.option())
		asked(2, 2)
		client = unlisted
		time.Sleep(time.Minute)
		wait(slow, seen.option())
		asked(3, 2)
		require.Len(t, seen.all(), 3)
		require.NotEmpty(t, seen.all()[1].Holders[0].Host)
		require.Empty(t, seen.all()[2].Holders[0].Host, "a client that is not in the registry does not ask it")
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// However long the queue is, who waits does not matter.
func TestASlowWaitForAFairLockDoesNotAskForItsQueue(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		hold := acquired(t, fairlock.New(other, "fair"))
		sent := &questions{}
		client.AddHook(sent)
		var seen slowness
		_, err := fairlock.New(client, "fair").Lock(t.Context(), redlatch.WithSlowWait(time.Second), redlatch.WithWait(2*time.Second), seen.option())
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.Equal(t, hold.Owner(), seen.one(t).Owner)
		require.EqualValues(t, 1, sent.lock.Load())
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestACrowdOfSlowNamesAsksTenTimes(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		sent := &questions{}
		client.AddHook(sent)
		var log page
		var seen slowness
		logger := redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))
		var waiting sync.WaitGroup
		for i := range 100 {
			name := fmt.Sprint("order ", i)
			acquired(t, rlock.New(other, name))
			waiting.Go(func() {
				_, err := rlock.New(client, name).Lock(t.Context(), redlatch.WithSlowWait(5*time.Second), redlatch.WithWait(30*time.Second), logger, seen.option())
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			})
		}
		waiting.Wait()
		require.Equal(t, []int64{10, 10}, []int64{sent.lock.Load(), sent.registry.Load()})
		require.Len(t, seen.all(), 100)
		time.Sleep(time.Minute)
		require.Equal(t, 10, strings.Count(log.String(), "a call waits for long"))
		require.Equal(t, 1, strings.Count(log.String(), "names=90 "), log.String())
	})
}

// A server without the right to the registry, as to the rest: the caller's error stays that of the wait.
func TestAnUnreadableRegistryIsSaidInTheLineAlone(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		for range 2 {
			acquired(t, rwlock.New(other, "lock").Reader())
		}
		client.AddHook(&refuser{err: said("NOPERM No permissions to access a key")})
		var log page
		_, err := rwlock.New(client, "lock", redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))).Writer().
			Lock(t.Context(), redlatch.WithSlowWait(10*time.Second), redlatch.WithWait(20*time.Second))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NotErrorIs(t, err, redlatch.ErrUnavailable)
		require.Equal(t, 1, strings.Count(log.String(), "a call waits for long"))
		require.Equal(t, 1, strings.Count(log.String(), `error="redlatch: the registry could not be asked: NOPERM`), "it was asked about one of two")
		require.Contains(t, log.String(), " others=1 ")
		require.NotContains(t, log.String(), "without the keys")
	})
}
