package sim

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
)

// A Suite is what is simulated: the library, or what is put in its place to see whether the judge convicts it.
type Suite struct {
	Locker    func(rdb []redis.UniversalClient, o Object, way string) Locker
	Semaphore func(rdb redis.UniversalClient, o Object) Counter
	Latch     func(rdb redis.UniversalClient, o Object) Barrier
	Guard     func(rdb redis.UniversalClient, o Object) Guard

	Prepare func(ctx context.Context, rdb redis.UniversalClient, o Object) error
	Force   func(ctx context.Context, rdb redis.UniversalClient, o Object) error
	Final   func(ctx context.Context, rdb []redis.UniversalClient, o Object, thing string) (int64, error)
}

// A Locker gives holds of a lock.
type Locker interface {
	Lock(ctx context.Context, opts ...redlatch.Option) (Hold, error)
	TryLock(ctx context.Context, opts ...redlatch.Option) (Hold, error)
}

// A Counter gives holds of permits.
type Counter interface {
	Acquire(ctx context.Context, n int64, opts ...redlatch.Option) (Hold, error)
	TryAcquire(ctx context.Context, n int64, opts ...redlatch.Option) (Hold, error)
	AddPermits(ctx context.Context, d int64) (int64, error)
}

// A Barrier is a latch.
type Barrier interface {
	CountDown(ctx context.Context) error
	Await(ctx context.Context, opts ...redlatch.Option) error
}

// A Guard makes writes that are not stale.
type Guard interface {
	For(h redlatch.Fenced) Writer
}

// A Writer makes the writes of a hold through a guard.
type Writer interface {
	Claim(ctx context.Context) error
	Do(ctx context.Context, command, key string, args ...any) error
}

// A Hold is what is held.
type Hold interface {
	Valid() bool
	Context(ctx context.Context) context.Context
	Extend(ctx context.Context, lease time.Duration) error
	Release(ctx context.Context) error
	Leave() bool // whether it can be left
	Token() int64
	Owner() string // empty if it has none that a queue would show
	IDs() []string // by which the program may name it to others; nil if it has none
}
