package suite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// Every operation is one command, as the table in docs/internals/protocol.md says. A second one would be a second round trip,
// which no benchmark on a noisy machine would show.
func TestCommandsPerOperation(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	ctx := t.Context()

	// The first calls send the scripts with their source, so everything is done once before it is counted.
	for _, count := range []bool{false, true} {
		costs := func(name string, want int64, op func() error) {
			t.Helper()
			before := srv.CommandStats(t)
			require.NoError(t, op(), name)
			after := srv.CommandStats(t)
			if got := after["evalsha"] + after["eval"] - before["evalsha"] - before["eval"]; count && got != want {
				t.Errorf("%s: %d commands, want %d", name, got, want)
			}
			for _, other := range []string{"subscribe", "ssubscribe", "script|load", "ping"} {
				if n := after[other] - before[other]; n != 0 {
					t.Errorf("%s: %d times %s", name, n, other)
				}
			}
		}
		lockCosts := func(name string, lock redlatch.Locker) {
			t.Helper()
			var hold *redlatch.Hold
			costs(name+": take", 1, func() (err error) { hold, err = lock.Lock(ctx); return err })
			if _, group := lock.(*multilock.Group); !group {
				var again *redlatch.Hold
				costs(name+": re-enter", 1, func() (err error) { again, err = lock.Lock(hold.Context(ctx)); return err })
				costs(name+": give one back", 1, func() error { return again.Unlock(ctx) })
			}
			costs(name+": refused try", 1, func() error {
				_, err := lock.TryLock(ctx)
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
				return nil
			})
			costs(name+": give back", 1, func() error { return hold.Unlock(ctx) })
		}
		rw := rwlock.New(rdb, "rw")
		lockCosts("rlock", rlock.New(rdb, "r"))
		lockCosts("fairlock", fairlock.New(rdb, "fair"))
		lockCosts("spinlock", spinlock.New(rdb, "spin"))
		lockCosts("fencedlock", fencedlock.New(rdb, "fenced"))
		lockCosts("rwlock, write", rw.Writer())
		lockCosts("multilock, group", multilock.NewGroup(rdb, "group", []string{"a", "b", "c"}))

		var hold *redlatch.Hold
		costs("rwlock, read: take", 1, func() (err error) { hold, err = rw.RLock(ctx); return err })
		costs("rwlock, read: give back", 1, func() error { return hold.Unlock(ctx) })
		costs("multilock of three: take", 1, func() (err error) {
			hold, err = multilock.New([]redlatch.Locker{rlock.New(rdb, "1"), rlock.New(rdb, "2"), rlock.New(rdb, "3")}).Lock(ctx)
			return err
		})
		costs("multilock of three: give back", 1, func() error { return hold.Unlock(ctx) })

		pool := semaphore.New(rdb, "pool")
		costs("semaphore: set up", 1, ok(func() (bool, error) { return pool.TrySetPermits(ctx, 2) }))
		costs("semaphore: acquire", 1, func() error { return pool.Acquire(ctx, 2) })
		costs("semaphore: refused try", 1, func() error {
			require.ErrorIs(t, pool.TryAcquire(ctx, 1), redlatch.ErrNotAcquired)
			return nil
		})
		costs("semaphore: release", 1, func() error { return pool.Release(ctx, 2) })

		permits := permitsemaphore.New(rdb, "permits")
		costs("permitsemaphore: set up", 1, ok(func() (bool, error) { return permits.TrySetPermits(ctx, 2) }))
		var permit *permitsemaphore.Permit
		costs("permitsemaphore: acquire", 1, func() (err error) { permit, err = permits.Acquire(ctx, 2); return err })
		costs("permitsemaphore: release", 1, func() error { return permit.Release(ctx) })

		sized := semaphore.New(rdb, "sized pool", semaphore.WithPermits(2))
		costs("semaphore: set up by an acquisition", 1, func() error { return sized.Acquire(ctx, 1) })
		costs("semaphore with WithPermits: acquire", 1, func() error { return sized.Acquire(ctx, 1) })
		costs("semaphore with WithPermits: release", 1, func() error { return sized.Release(ctx, 2) })
		require.NoError(t, rdb.Del(ctx, "sized pool").Err())
		sizedPermits := permitsemaphore.New(rdb, "sized permits", permitsemaphore.WithPermits(2))
		costs("permitsemaphore: set up by an acquisition", 1, func() (err error) { permit, err = sizedPermits.Acquire(ctx, 1); return err })
		costs("permitsemaphore with WithPermits: release", 1, func() error { return permit.Release(ctx) })
		costs("permitsemaphore with WithPermits: acquire", 1, func() (err error) { permit, err = sizedPermits.Acquire(ctx, 1); return err })
		costs("permitsemaphore with WithPermits: give back", 1, func() error { return permit.Release(ctx) })
		require.NoError(t, rdb.Del(ctx, "sized permits").Err())

		latch := countdownlatch.New(rdb, "latch")
		costs("countdownlatch: set up", 1, ok(func() (bool, error) { return latch.TrySetCount(ctx, 1) }))
		costs("countdownlatch: count down", 1, func() error { return latch.CountDown(ctx) })
		costs("countdownlatch: await, open", 1, func() error { return latch.Await(ctx) })
	}
}

func ok(op func() (bool, error)) func() error {
	return func() error {
		_, err := op()
		return err
	}
}
