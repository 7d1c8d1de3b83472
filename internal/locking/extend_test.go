package locking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// The last hold that the watchdog renews is overdue while the answer is on its way: the lease is extended, and nobody is
// to renew it after that.
func TestAHoldThatEndsDuringAnExtensionIsRenewedNoLonger(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx, redlatch.WithLease(time.Minute))
		k.take(b, outer.Context(k.ctx), redlatch.WithMaxHold(2*time.Second))
		k.harm("recount", 1, fault{after: 4 * time.Second})
		require.NoError(t, outer.Extend(k.ctx, 2*time.Minute))
		k.at(90 * time.Second)
		require.Equal(t, 30*time.Second, k.mini.TTL(name))
	})
}

func TestAnExtensionThatIsAnsweredAfterTheLossSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx, redlatch.WithLease(10*time.Second))
		k.at(9 * time.Second)
		k.harm("recount", 1, fault{after: 2 * time.Second})
		require.ErrorIs(t, h.Extend(k.ctx, time.Minute), redlatch.ErrLost)
		require.ErrorIs(t, h.Unlock(k.ctx), redlatch.ErrLost)
		require.False(t, k.locked())
	})
}
