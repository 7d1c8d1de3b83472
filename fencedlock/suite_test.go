package fencedlock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func features() locktest.Features {
	return locktest.Features{
		Exclusive: true, Watchdog: true, Messages: true, Ordered: true, Owned: true,
		Stays: func(key string) bool { return strings.HasPrefix(key, "redisson_lock_token:") },
		ForceUnlock: func(ctx context.Context, lock redlatch.Locker) (bool, error) {
			return lock.(*fencedlock.Lock).ForceUnlock(ctx)
		},
	}
}

func TestReentrantLock(t *testing.T) {
	has := features()
	has.Reentrant = true
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return fencedlock.New(client, name, opts...)
	}, has)
}

func TestNonReentrantLock(t *testing.T) {
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return fencedlock.NewNonReentrant(client, name, opts...)
	}, features())
}
