package migrating

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

// Work that may take longer than a lease.

func redsyncExport(ctx context.Context, rdb *redis.Client, export func(context.Context) error) error {
	rs := redsync.New(goredis.NewPool(rdb))
	mutex := rs.NewMutex("export", redsync.WithExpiry(9*time.Second), redsync.WithTries(40))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // keeps the mutex for as long as export takes
		for {
			select {
			case <-time.After(3 * time.Second):
				if ok, err := mutex.ExtendContext(ctx); !ok {
					cancel(fmt.Errorf("the mutex may be lost: %w", err))
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return export(ctx)
}

func redlatchExport(ctx context.Context, rdb *redis.Client, export func(context.Context) error) error {
	lock := rlock.New(rdb, "lock:export", redlatch.WithWatchdogTimeout(9*time.Second))
	return lock.Do(ctx, export, redlatch.WithWait(6*time.Second)) // renews it, and ends the context of export if that fails
}

// Work that one process does while the others skip it.

func redsyncNightly(ctx context.Context, rs *redsync.Redsync, job func(context.Context) error) error {
	mutex := rs.NewMutex("nightly", redsync.WithExpiry(time.Minute))
	var taken *redsync.ErrTaken
	switch err := mutex.TryLockContext(ctx); {
	case errors.As(err, &taken):
		return nil // another process is at it
	case err != nil:
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	return job(ctx)
}

func redlatchNightly(ctx context.Context, rdb *redis.Client, job func(context.Context) error) error {
	_, err := rlock.New(rdb, "lock:nightly").TryDo(ctx, job, redlatch.WithLease(time.Minute)) // false: another process is at it
	return err
}

// Independent servers.

func redsyncSettle(ctx context.Context, servers []*redis.Client, settle func(context.Context) error) error {
	var pools []redsyncredis.Pool
	for _, server := range servers {
		pools = append(pools, goredis.NewPool(server))
	}
	mutex := redsync.New(pools...).NewMutex("settlement")
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	return settle(ctx)
}

func redlatchSettle(ctx context.Context, servers []*redis.Client, settle func(context.Context) error) error {
	var clients []redlatch.Client
	for _, server := range servers {
		clients = append(clients, server)
	}
	return redlock.New(clients, "lock:settlement").Do(ctx, settle)
}
