package migrating

import (
	"context"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/rlock"
)

// The version between: it takes both locks.

func changeOver(ctx context.Context, rs *redsync.Redsync, rdb *redis.Client, name string, work func(context.Context) error) error {
	mutex := rs.NewMutex(name)
	if err := mutex.LockContext(ctx); err != nil { // as before
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	return rlock.New(rdb, "lock:"+name).Do(ctx, work) // new; the outer one goes with the next version
}
