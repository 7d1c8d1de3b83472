package locking_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/locking"
)

// The commands of one owner are sent one at a time. Here one is slow, an Extend or a re-entry, and others come meanwhile.

// occupy extends the lease of h with a command whose answer is on its way for so long.
func (k *kit) occupy(h *redlatch.Hold, d time.Duration) <-chan error {
	k.harm("recount", 1, fault{after: d})
	extended := make(chan error, 1)
	go func() { extended <- h.Extend(context.Background(), time.Minute) }()
	synctest.Wait()
	return extended
}

func TestAReentryThatLeavesItsPlaceTakesNobodysTurn(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		h := k.take(b, k.ctx)
		ctx := h.Context(k.ctx)
		extended := k.occupy(h, 5*time.Second)
		_, err := locking.Lock(ctx, b, []redlatch.Option{redlatch.WithWait(time.Second)})
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		second := k.wait(b, ctx)
		require.Equal(t, 1, k.sent("recount"), "the first is not answered")
		got := <-second
		require.NoError(t, got.err)
		require.NoError(t, got.hold.Unlock(k.ctx))
		require.NoError(t, <-extended)
		require.NoError(t, h.Unlock(k.ctx))
		require.Equal(t, 5*time.Second, time.Since(k.start))
		require.False(t, k.locked())
	})
}

func TestUnlockWaitsForItsTurnOnACancelledContextToo(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		extended := k.occupy(h, 2*time.Second)
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		require.NoError(t, h.Unlock(ctx))
		require.False(t, k.locked())
		require.NoError(t, <-extended)
	})
}

func TestAReentryThatTheServerRefusesHoldsUpNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		h := k.take(b, k.ctx)
		k.hopeless("recount")
		_, err := locking.Lock(h.Context(k.ctx), b, nil)
		require.ErrorIs(t, err, errDenied)
		k.faults(nil)
		require.NoError(t, h.Unlock(k.ctx))
		require.Zero(t, time.Since(k.start))
	})
}

// The lease ran out at the clock while the answer was on its way: nobody would tell the new hold.
func TestAReentryThatIsAnsweredAfterTheLossSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		h := k.take(b, k.ctx, redlatch.WithLease(10*time.Second))
		k.at(9 * time.Second)
		k.harm("recount", 1, fault{after: 2 * time.Second})
		_, err := locking.Lock(context.WithoutCancel(h.Context(k.ctx)), b, nil)
		require.ErrorIs(t, err, redlatch.ErrLost)
		require.ErrorIs(t, h.Unlock(k.ctx), redlatch.ErrLost)
		require.False(t, k.locked())
	})
}

// The last hold is given back, without its turn, while a re-entry is on its way or waits for its turn. What settles the
// release would take the lock from the re-entry, and the watchdog knows nothing of it.
func TestAReentryThatComesTooLateAcquiresForItself(t *testing.T) {
	for when, begin := range map[string]func(k *kit, h *redlatch.Hold){
		"on its way":         func(k *kit, _ *redlatch.Hold) { k.harm("recount", 1, fault{after: 3 * time.Second}) },
		"waiting for a turn": func(k *kit, h *redlatch.Hold) { k.occupy(h, 3*time.Second) },
	} {
		t.Run(when, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock(redlatch.WithReleaseTimeout(time.Second))
				h := k.take(b, k.ctx)
				begin(k, h)
				late := k.wait(b, context.WithoutCancel(h.Context(k.ctx)))
				require.ErrorIs(t, h.Unlock(k.ctx), redlatch.ErrUncertain)
				got := <-late
				require.NoError(t, got.err)
				require.Less(t, got.at, 10*time.Second)
				require.NotEqual(t, h.Owner(), got.hold.Owner())
				time.Sleep(2 * time.Minute)
				require.True(t, got.hold.Valid())
				require.Equal(t, 1, k.count(got.hold.Owner()))
				require.Zero(t, k.count(h.Owner()))
			})
		})
	}
}

// The server may still keep the lock, but nobody here believes to have it: it must not be kept for longer.
func TestALostLockIsNotExtended(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx, redlatch.WithLease(10*time.Second))
		<-h.Context(k.ctx).Done()
		require.True(t, k.locked())
		require.ErrorIs(t, h.Extend(k.ctx, time.Minute), redlatch.ErrLost)
		require.Zero(t, k.sent("recount"))
	})
}

// The same name on another server is another lock, and who holds the one has nothing of the other.
func TestAHoldOfAnotherClientIsNotReentered(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		_, err := locking.TryLock(h.Context(k.ctx), k.foreign(), nil)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	})
}
