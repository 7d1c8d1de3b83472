package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/locktest"
	"github.com/redlatch/redlatch/redlock"
)

// The suite has one server, whose loss is the loss of a majority of one. What several make different is tested beside.
func TestRedlockOfOne(t *testing.T) {
	locktest.Exercise(t, func(tb testing.TB, client redlatch.Client, name string, opts ...redlatch.Option) redlatch.Locker {
		// The default of half a second is too short for a machine with more work than cores.
		return redlock.New([]redlatch.Client{client}, name, append([]redlatch.Option{redlock.WithNodeTimeout(10 * time.Second)}, opts...)...)
	}, locktest.Features{
		Reentrant: true, Exclusive: true, Watchdog: true, Ordered: true, Pause: 250 * time.Millisecond,
		ForceUnlock: func(ctx context.Context, lock redlatch.Locker) (bool, error) {
			return lock.(*redlock.Lock).ForceUnlock(ctx)
		},
	})
}
