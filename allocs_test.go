//go:build !race

package redlatch_test

// The race detector allocates by itself, and has sync.Pool forget some of what it is given.

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/spinlock"
)

// What a pair of Lock and Unlock allocates says more about a change than its time does, and says it on any machine.
// Six allocations of each pair are the client library's.
func TestAPairAllocatesLittle(t *testing.T) {
	srv := redistest.Real(t) // miniredis would count too
	client := srv.Client(t)
	for name, test := range map[string]struct {
		lock                    redlatch.Locker
		background, cancellable float64
	}{
		"rlock":        {rlock.New(client, srv.Key(t, "plain")), 16, 20},
		"spinlock":     {spinlock.New(client, srv.Key(t, "spin")), 16, 20},
		"fencedlock":   {fencedlock.New(client, srv.Key(t, "fenced")), 22, 26},
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
