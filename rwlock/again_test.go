package rwlock_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

// Each would ask, hold alone and release for itself if it did not find the one that asks, and so would those that come during its release.
func TestReadersThatComeDuringTheLastReleaseHaveOneAskForAll(t *testing.T) {
	fakeTime(t, func(k *kit) {
		client := redis.NewClient(redistest.InMemoryOptions(k.mini))
		k.Cleanup(func() { _ = client.Close() })
		sent, slowly := redistest.Sent{}, slow{by: time.Millisecond}
		client.AddHook(&sent)
		client.AddHook(&slowly)
		slowly.on.Store(true)
		lock := rwlock.New(client, k.name, briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
		last := k.take(lock.RLock, k.ctx)
		go k.give(last)
		synctest.Wait()
		before := sent.Load()
		var come []<-chan grant
		for range 8 {
			come = append(come, k.asks(lock.RLock, k.ctx))
			synctest.Wait()
		}
		require.EqualValues(k, 1, sent.Load()-before)
		for _, c := range come {
			require.NoError(k, (<-c).err)
		}
	})
}

// The release has told nobody else, so that the waiter has no reason to look at the lock before it asks for it.
func TestAWriterBehindALongSectionOfItsProcessAsksAtOnce(t *testing.T) {
	fakeTime(t, func(k *kit) {
		client, sent := redis.NewClient(redistest.InMemoryOptions(k.mini)), redistest.Sent{}
		k.Cleanup(func() { _ = client.Close() })
		client.AddHook(&sent)
		lock := rwlock.New(client, k.name, redlatch.WithLogger(slog.New(slog.DiscardHandler)))
		hold := k.take(lock.Lock, k.ctx)
		for range 3 {
			next := k.asks(lock.Lock, k.ctx)
			synctest.Wait()
			time.Sleep(20 * time.Millisecond)
			before := sent.Load()
			k.give(hold)
			hold = k.served(next)
			require.EqualValues(k, 1, sent.Load()-before, "the release has the next writer hold")
		}
		k.give(hold)
		time.Sleep(time.Minute) // what serves the client ends
	})
}
