package fencedlock_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// With appendfsync always the server has on disk what it answers: after a SIGKILL at any moment no token is issued again,
// and what a guard has confirmed is there.
func TestWithAppendfsyncAlwaysNothingConfirmedIsLost(t *testing.T) {
	t.Parallel()
	for range 3 {
		srv := redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")
		rdb := srv.Client(t)
		guard := fencedlock.NewGuard(rdb, "orders:42")
		var issued, written atomic.Int64 // the greatest that were confirmed
		var down atomic.Bool
		var work errgroup.Group
		for range 4 {
			work.Go(func() error {
				for !down.Load() {
					hold, err := fencedlock.New(rdb, "orders:42").Lock(t.Context())
					if err != nil {
						continue // the kill came in between
					}
					raise(&issued, hold.Token())
					if guard.For(hold).Set(t.Context(), "{orders:42}:token", hold.Token()) == nil {
						raise(&written, hold.Token())
					}
					_ = hold.Unlock(t.Context())
				}
				return nil
			})
		}
		require.Eventually(t, func() bool { return written.Load() > 10 }, time.Minute, time.Millisecond)
		time.Sleep(rand.N(50 * time.Millisecond))
		srv.Kill()
		down.Store(true)
		srv.Restart()
		require.NoError(t, work.Wait())

		token, err := rdb.Get(t.Context(), "{orders:42}:token").Int64()
		require.NoError(t, err)
		require.GreaterOrEqual(t, token, written.Load())
		hold, err := fencedlock.New(rdb, "orders:42").Lock(t.Context())
		require.NoError(t, err)
		require.Greater(t, hold.Token(), issued.Load())
		require.NoError(t, hold.Unlock(t.Context()))
	}
}

func raise(greatest *atomic.Int64, n int64) {
	for old := greatest.Load(); old < n && !greatest.CompareAndSwap(old, n); old = greatest.Load() {
	}
}
