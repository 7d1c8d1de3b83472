package rlock_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/rlock"
)

func forceUnlock(ctx context.Context, lock redlatch.Locker) (bool, error) {
	return lock.(*rlock.Lock).ForceUnlock(ctx)
}

func TestReentrantLock(t *testing.T) {
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return rlock.New(client, name, opts...)
	}, locktest.Features{
		Reentrant: true, Exclusive: true, Watchdog: true, Messages: true, Ordered: true, Owned: true, ForceUnlock: forceUnlock,
	})
}

func TestNonReentrantLock(t *testing.T) {
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		return rlock.NewNonReentrant(client, name, opts...)
	}, locktest.Features{
		Exclusive: true, Watchdog: true, Messages: true, Ordered: true, Owned: true, ForceUnlock: forceUnlock,
	})
}
