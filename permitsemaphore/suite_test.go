package permitsemaphore_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/countertest"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// Each permit that is raised is one that another program has, and whose id is known.
func TestPromisesOfCounters(t *testing.T) {
	ids := make(chan string, 1000)
	id := func() string {
		select {
		case id := <-ids:
			return id
		default:
			return "of no permit, at all"[:16]
		}
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
				Raise: func(ctx context.Context) error { return s.Release(ctx, hex.EncodeToString([]byte(id()))) },
				Look:  s.AvailablePermits,
			}
		},
		Close: func(ctx context.Context, client *redis.Client, name string, n int64) error {
			for len(ids) > 0 {
				<-ids
			}
			for i := range n {
				one := fmt.Sprintf("%016d", i)
				ids <- one
				if err := client.ZAdd(ctx, keys.PermitTimeouts(name), redis.Z{Score: never, Member: one}).Err(); err != nil {
					return err
				}
			}
			return client.Set(ctx, name, 0, 0).Err()
		},
		Open: func(ctx context.Context, client *redis.Client, name string) error {
			if err := client.ZRem(ctx, keys.PermitTimeouts(name), id()).Err(); err != nil {
				return err
			}
			return client.Incr(ctx, name).Err()
		},
		Left:    func(closed, n int64) int64 { return closed + n },
		Channel: keys.SemaphoreChannel,
	})
}
