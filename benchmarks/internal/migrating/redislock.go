package migrating

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rlock"
)

var errBusy = errors.New("the order is being worked on")

// A wait with an end, and a lease that nobody renews.

func redislockCharge(ctx context.Context, rdb *redis.Client, charge func(context.Context) error) error {
	lock, err := redislock.Obtain(ctx, rdb, "orders:42", 30*time.Second, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(100*time.Millisecond), 50),
	})
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return errBusy
	case err != nil:
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	return charge(ctx)
}

func redlatchCharge(ctx context.Context, rdb *redis.Client, charge func(context.Context) error) error {
	hold, err := rlock.New(rdb, "lock:orders:42").Lock(ctx,
		redlatch.WithWait(5*time.Second), redlatch.WithLease(30*time.Second))
	switch {
	case errors.Is(err, redlatch.ErrNotAcquired):
		return errBusy
	case err != nil:
		return err
	}
	defer hold.Unlock(ctx) // ctx may have ended
	return charge(hold.Context(ctx))
}

// Work in steps, each of which needs the lock.

func redislockImport(ctx context.Context, rdb *redis.Client, pages []string, write func(context.Context, string) error) error {
	lock, err := redislock.Obtain(ctx, rdb, "import", 10*time.Second, nil)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	for _, page := range pages {
		if err := lock.Refresh(ctx, 10*time.Second, nil); err != nil {
			return err // it was lost
		}
		if err := write(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

func redlatchImport(ctx context.Context, rdb *redis.Client, pages []string, write func(context.Context, string) error) error {
	hold, err := rlock.New(rdb, "lock:import").TryLock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock(ctx)
	ctx = hold.Context(ctx) // ends when it was lost, in the midst of a page too
	for _, page := range pages {
		if err := write(ctx, page); err != nil {
			return err
		}
	}
	return nil
}
