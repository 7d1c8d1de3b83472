package semaphore_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/countertest"
	"github.com/redlatch/redlatch/semaphore"
)

func TestPromisesOfCounters(t *testing.T) {
	countertest.Exercise(t, countertest.Features{
		Make: func(_ testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) countertest.Counter {
			s := semaphore.New(client, name, opts...)
			return countertest.Counter{
				Wait:  func(ctx context.Context, opts ...redlatch.Option) error { return s.Acquire(ctx, 1, opts...) },
				Raise: func(ctx context.Context) error { return s.Release(ctx, 1) },
				Look:  s.AvailablePermits,
			}
		},
		Close: func(ctx context.Context, client *redis.Client, name string, _ int64) error {
			return client.Set(ctx, name, 0, 0).Err()
		},
		Open: func(ctx context.Context, client *redis.Client, name string) error {
			return client.Incr(ctx, name).Err()
		},
		Left:    func(closed, n int64) int64 { return closed + n },
		Channel: keys.SemaphoreChannel,
	})
}
