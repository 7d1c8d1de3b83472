package migrating

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rlock"
)

// A lock that is renewed.

func rueidislockOpen(address string) (rueidislock.Locker, error) {
	return rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{address}},
		KeyMajority:  1, // one server
		KeyValidity:  10 * time.Second,
	})
}

func rueidislockSync(ctx context.Context, locker rueidislock.Locker, work func(context.Context) error) error {
	ctx, unlock, err := locker.WithContext(ctx, "sync")
	if err != nil {
		return err
	}
	defer unlock()
	return work(ctx)
}

func redlatchSync(ctx context.Context, rdb *redis.Client, work func(context.Context) error) error {
	hold, err := rlock.New(rdb, "sync", redlatch.WithWatchdogTimeout(10*time.Second)).Lock(ctx)
	if err != nil {
		return err
	}
	defer hold.Unlock(ctx) // nothing to close, here or anywhere else
	return work(hold.Context(ctx))
}

// Once.

func rueidislockTry(ctx context.Context, locker rueidislock.Locker, work func(context.Context) error) error {
	ctx, unlock, err := locker.TryWithContext(ctx, "sync")
	switch {
	case errors.Is(err, rueidislock.ErrNotLocked):
		return nil // another process has it
	case err != nil:
		return err
	}
	defer unlock()
	return work(ctx)
}

func redlatchTry(ctx context.Context, rdb *redis.Client, work func(context.Context) error) error {
	_, err := rlock.New(rdb, "sync").TryDo(ctx, work) // false: another process has it
	return err
}

// By force.

func rueidislockForce(ctx context.Context, locker rueidislock.Locker, work func(context.Context) error) error {
	ctx, unlock, err := locker.ForceWithContext(ctx, "sync")
	if err != nil {
		return err
	}
	defer unlock()
	return work(ctx)
}

func redlatchForce(ctx context.Context, rdb *redis.Client, work func(context.Context) error) error {
	lock := rlock.New(rdb, "sync")
	if _, err := lock.ForceUnlock(ctx); err != nil { // its holder may go on for a third of its watchdog timeout and a second
		return err
	}
	return lock.Do(ctx, work) // a waiter may be faster
}
