package redlatch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/semaphore"
)

// What an operation allocates, in this process, the client library included, which alone takes some seven for a command.
// Unlike its time it is the same on every machine. The bounds are what was measured and a little more.
func TestAllocationsPerPairOfOperations(t *testing.T) {
	if poolsForget {
		t.Skip("the race detector makes pools forget, so that nothing can be said of allocations")
	}
	rdb := redistest.Process(t).Client(t)
	contexts := map[string]context.Context{"background": context.Background(), "cancellable": t.Context()}
	for name, ctx := range contexts {
		costs := func(what string, most float64, pair func() error) {
			t.Helper()
			for range 50 { // until pools, connections and scripts are there
				require.NoError(t, pair(), what)
			}
			got := testing.AllocsPerRun(300, func() {
				if err := pair(); err != nil {
					t.Error(err)
				}
			})
			t.Logf("%s, %s: %.1f", what, name, got)
			if got > most {
				t.Errorf("%s, with a context that is %s: %.1f allocations, at most %.0f expected", what, name, got, most)
			}
		}
		pool := semaphore.New(rdb, "pool "+name)
		_, err := pool.TrySetPermits(ctx, 3)
		require.NoError(t, err)
		costs("semaphore: acquire and release", 35, func() error {
			if err := pool.Acquire(ctx, 1); err != nil {
				return err
			}
			return pool.Release(ctx, 1)
		})
		permits := permitsemaphore.New(rdb, "permits "+name)
		_, err = permits.TrySetPermits(ctx, 3)
		require.NoError(t, err)
		costs("permitsemaphore: acquire and release", 60, func() error {
			permit, err := permits.Acquire(ctx, 1)
			if err != nil {
				return err
			}
			return permit.Release(ctx)
		})
		latch := countdownlatch.New(rdb, "latch "+name)
		costs("countdownlatch: set and count down", 33, func() error {
			if _, err := latch.TrySetCount(ctx, 1); err != nil {
				return err
			}
			return latch.CountDown(ctx)
		})
	}
}
