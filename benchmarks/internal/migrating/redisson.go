package migrating

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/semaphore"
)

// The counterparts of interop/java/src/main/java/peer/Migrating.java.

func pay(ctx context.Context, rdb *redis.Client, charge func(context.Context) error) error {
	return rlock.New(rdb, "orders:42").Do(ctx, charge) // charge gets a context that re-enters, and ends on loss
}

func payWithin(ctx context.Context, rdb *redis.Client, charge func(context.Context) error) (bool, error) {
	lock := rlock.New(rdb, "orders:42")
	return lock.TryDo(ctx, charge, redlatch.WithWait(2*time.Second), redlatch.WithLease(time.Minute))
}

func crawl(ctx context.Context, rdb *redis.Client, fetch func(context.Context) error) error {
	return semaphore.New(rdb, "crawler", semaphore.WithPermits(8)).Do(ctx, 1, fetch)
}

func awaitImports(ctx context.Context, rdb *redis.Client) error {
	return countdownlatch.New(rdb, "import:7").Await(ctx, redlatch.WithWait(time.Minute))
}
