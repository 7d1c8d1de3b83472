package countdownlatch_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/countertest"
)

func TestPromisesOfCounters(t *testing.T) {
	countertest.Exercise(t, countertest.Features{
		Make: func(_ testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) countertest.Counter {
			l := countdownlatch.New(client, name, opts...)
			return countertest.Counter{Wait: l.Await, Raise: l.CountDown, Look: l.Count}
		},
		Close: func(ctx context.Context, client *redis.Client, name string, n int64) error {
			return client.Set(ctx, name, n, 0).Err()
		},
		Open: func(ctx context.Context, client *redis.Client, name string) error {
			return client.Del(ctx, name).Err()
		},
		Left:    func(closed, n int64) int64 { return closed - n },
		Channel: keys.LatchChannel,
		Shared:  true,
	})
}
