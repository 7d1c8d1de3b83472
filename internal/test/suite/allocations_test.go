//go:build !race

package suite_test

// The race detector allocates by itself, and has sync.Pool forget some of what it is given.

import (
	"context"
	"slices"
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

// What a pair of Lock and Unlock allocates says more about a change than its time does, and says it on any machine.
// Six allocations of each pair are the client library's.
func TestAPairAllocatesLittle(t *testing.T) {
	srv := redistest.Real(t) // miniredis would count too
	client := srv.Client(t)
	three := multilock.New([]redlatch.Locker{
		rlock.New(client, srv.Key(t, "one")), rlock.New(client, srv.Key(t, "two")), rlock.New(client, srv.Key(t, "three")),
	})
	for name, test := range map[string]struct {
		lock                    redlatch.Locker
		background, cancellable float64
	}{
		"rlock":        {rlock.New(client, srv.Key(t, "plain")), 16, 20},
		"spinlock":     {spinlock.New(client, srv.Key(t, "spin")), 16, 20},
		"fencedlock":   {fencedlock.New(client, srv.Key(t, "fenced")), 20, 24},
		"fairlock":     {fairlock.New(client, srv.Key(t, "fair")), 42, 48},
		"multilock":    {three, 50, 54},
		"rwlock write": {rwlock.New(client, srv.Key(t, "rw")).Writer(), 27, 31},
		"rwlock read":  {rwlock.New(client, srv.Key(t, "rw")).Reader(), 32, 36},
	} {
		t.Run(name, func(t *testing.T) {
			pair := func(ctx context.Context) func() {
				return func() {
					hold, err := test.lock.Lock(ctx)
					require.NoError(t, err)
					require.NoError(t, hold.Unlock(ctx))
				}
			}
			got := testing.AllocsPerRun(1000, pair(context.Background()))
			t.Logf("with a context that cannot be cancelled: %v", got)
			require.LessOrEqual(t, got, test.background)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			got = testing.AllocsPerRun(1000, pair(ctx))
			t.Logf("with one that can: %v", got)
			require.LessOrEqual(t, got, test.cancellable)
		})
	}
}

// What an operation allocates, in this process, the client library included, which alone takes some seven for a command.
// Unlike its time it is the same on every machine. The bounds are what was measured and a little more.
func TestAllocationsPerPairOfOperations(t *testing.T) {
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
		costs("semaphore: acquire and release", 21, func() error {
			if err := pool.Acquire(ctx, 1); err != nil {
				return err
			}
			return pool.Release(ctx, 1)
		})
		permits := permitsemaphore.New(rdb, "permits "+name)
		_, err = permits.TrySetPermits(ctx, 3)
		require.NoError(t, err)
		costs("permitsemaphore: acquire and release", 27, func() error {
			permit, err := permits.Acquire(ctx, 1)
			if err != nil {
				return err
			}
			return permit.Release(ctx)
		})
		latch := countdownlatch.New(rdb, "latch "+name)
		costs("countdownlatch: set and count down", 21, func() error {
			if _, err := latch.TrySetCount(ctx, 1); err != nil {
				return err
			}
			return latch.CountDown(ctx)
		})
	}
}

// Whoever takes a lock wakes the reporter of the registry, which is awake already. The least of several counts is compared, because timers
// allocate in some.
func TestTheRegistryAllocatesNothingWhereLocksAreGivenBackSoon(t *testing.T) {
	srv := redistest.Process(t)
	least := func(setting string) float64 {
		t.Setenv("REDLATCH_REGISTRY", setting)
		lock := rlock.New(srv.Client(t), srv.Key(t, "lock"))
		counts := make([]float64, 5)
		for i := range counts {
			counts[i] = testing.AllocsPerRun(300, func() {
				hold, err := lock.Lock(context.Background())
				if err == nil {
					err = hold.Unlock(context.Background())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		return slices.Min(counts)
	}
	without, with := least("off"), least("on")
	t.Logf("%v allocations with the registry, %v without", with, without)
	require.Equal(t, without, with)
}
