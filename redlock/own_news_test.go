package redlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// A holder may have all servers but the first, which a waiter gets at each attempt. What the waiter then gives back there
// must not wake it: it would ask again at once, and again, for as long as the holder holds.
func TestAWaiterIsNotWokenByWhatItGivesBack(t *testing.T) {
	inBubble(t, func(b *trio) {
		holds := []*redlatch.Hold{b.on(1), b.on(2)}
		var commands atomic.Int64
		for i := range b.harm {
			b.harm[i] = func() error { commands.Add(1); return nil }
		}
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		defer cancel()
		_, err := b.lock().Lock(ctx)
		require.ErrorIs(b, err, context.DeadlineExceeded)
		for _, h := range holds {
			require.NoError(b, h.Unlock(b.Context()))
		}
		t.Log(commands.Load(), "commands")
		require.Less(b, commands.Load(), int64(500))
	})
}
