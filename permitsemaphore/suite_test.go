package permitsemaphore_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/countertest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// Each permit that is raised is one that another program has, and whose id is known. The servers are tested at the same time.
func TestPromisesOfCounters(t *testing.T) {
	var mu sync.Mutex
	taken := map[string][]string{} // the ids, by the name of the semaphore
	id := func(name string) string {
		mu.Lock()
		defer mu.Unlock()
		ids := taken[name]
		if len(ids) == 0 {
			return "of no permit, at all"[:16]
		}
		taken[name] = ids[1:]
		return ids[0]
	}
	countertest.Exercise(t, countertest.Features{
		Make: func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) countertest.Counter {
			s := permitsemaphore.New(client, name, opts...)
			return countertest.Counter{
				Wait: func(ctx context.Context, opts ...redlatch.Option) error {
					p, err := s.Acquire(ctx, 1, opts...)
					if err == nil {
						tb.Cleanup(func() { _ = p.Release(context.Background()) })
					}
					return err
				},
				Raise: func(ctx context.Context) error { return s.Release(ctx, hex.EncodeToString([]byte(id(name)))) },
				Look:  s.AvailablePermits,
			}
		},
		Close: func(ctx context.Context, client *redis.Client, name string, n int64) error {
			var ids []string
			for i := range n {
				one := fmt.Sprintf("%016d", i)
				ids = append(ids, one)
				if err := client.ZAdd(ctx, keys.PermitTimeouts(name), redis.Z{Score: never, Member: one}).Err(); err != nil {
					return err
				}
			}
			mu.Lock()
			taken[name] = ids
			mu.Unlock()
			return client.Set(ctx, name, 0, 0).Err()
		},
		Open: func(ctx context.Context, client *redis.Client, name string) error {
			if err := client.ZRem(ctx, keys.PermitTimeouts(name), id(name)).Err(); err != nil {
				return err
			}
			return client.Incr(ctx, name).Err()
		},
		Left:    func(closed, n int64) int64 { return closed + n },
		Channel: keys.SemaphoreChannel,
	})
}
