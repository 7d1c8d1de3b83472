package rwlock_test

import (
	"context"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rwlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func reader(_ testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
	return rwlock.New(client, name, opts...).Reader()
}

func writer(_ testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
	return rwlock.New(client, name, opts...).Writer()
}

func forceUnlock(ctx context.Context, lock redlatch.Locker) (bool, error) {
	return lock.(*rwlock.Side).ForceUnlock(ctx)
}

func TestWriter(t *testing.T) {
	locktest.Exercise(t, writer, locktest.Features{
		Reentrant: true, Exclusive: true, Watchdog: true, Messages: true, Ordered: true, Owned: true, ForceUnlock: forceUnlock,
	})
}

func TestReader(t *testing.T) {
	locktest.Exercise(t, reader, locktest.Features{
		Reentrant: true, Watchdog: true, Messages: true, Owned: true, Blocker: writer,
	})
}
