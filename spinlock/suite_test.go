package spinlock_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/spinlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestSpinLock(t *testing.T) {
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return spinlock.New(client, name, opts...)
	}, locktest.Features{
		Reentrant: true, Exclusive: true, Watchdog: true, Ordered: true, Owned: true,
		ForceUnlock: func(ctx context.Context, lock redlatch.Locker) (bool, error) {
			return lock.(*spinlock.Lock).ForceUnlock(ctx)
		},
	})
}
