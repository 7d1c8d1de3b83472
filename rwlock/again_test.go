package rwlock_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
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
		lock := rwlock.New(client, k.name, redlatch.WithLinger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)))
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
