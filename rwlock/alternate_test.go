package rwlock_test

import (
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

// Readers that wait one behind the other have the lock by the same script.
func TestReadersAndWritersOfAProcessAlternateByOneScriptEach(t *testing.T) {
	fakeTime(t, func(k *kit) {
		var sent redistest.Sent
		client := redis.NewClient(redistest.InMemoryOptions(k.mini))
		client.AddHook(&sent)
		k.Cleanup(func() { _ = client.Close() })
		lock := rwlock.New(client, k.name, briefly.Linger(0))
		holds := []*redlatch.Hold{k.heard(lock)}
		type turn struct {
			readers int
			grants  []<-chan grant
		}
		var turns []*turn
		for _, readers := range []int{2, 0, 1, 0} {
			w := &turn{readers: readers}
			for range max(1, readers) {
				take := lock.Lock
				if readers > 0 {
					take = lock.RLock
				}
				w.grants = append(w.grants, k.asks(take, k.ctx))
				synctest.Wait()
			}
			turns = append(turns, w)
		}
		own := k.asks(lock.RLock, k.ctx, redlatch.WithLease(time.Minute))
		for _, w := range turns {
			k.waits(w.grants...)
			before, owner := sent.Load(), holds[0].Owner()
			k.give(holds...)
			holds = nil
			for _, g := range w.grants {
				holds = append(holds, k.served(g))
			}
			synctest.Wait()
			require.EqualValues(k, 1, sent.Load()-before)
			require.NotEqual(k, owner, holds[0].Owner())
			fields := map[string]string{"mode": "write", holds[0].Owner() + ":write": "1"}
			if w.readers > 0 {
				fields = map[string]string{"mode": "read", holds[0].Owner(): "1"}
			}
			require.Equal(k, fields, k.fields())
		}
		before := sent.Load()
		k.give(holds...)
		r := k.served(own)
		require.EqualValues(k, 1, sent.Load()-before, "with terms of its own too")
		k.free(k.process().TryRLock)
		k.give(r)
		require.Empty(k, k.keys())
	})
}
