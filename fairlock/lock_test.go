package fairlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestTheHolderReentersWhoeverWaits(t *testing.T) {
	bubble(t, 2, func(w *world) {
		lock := w.lock(0)
		hold, err := lock.Lock(w.Context())
		require.NoError(t, err)
		done := w.stands(1, "other")
		inner, err := lock.Lock(hold.Context(w.Context()))
		require.NoError(t, err)
		require.Equal(t, hold.Owner(), inner.Owner())
		require.NoError(t, inner.Unlock(w.Context()))
		require.Empty(t, w.served())
		require.NoError(t, hold.Unlock(w.Context()))
		require.NoError(t, <-done)
	})
}

func TestATryNeitherStandsInTheQueueNorOvertakesIt(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		_, err = w.lock(1).TryLock(w.Context())
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.False(t, w.mini.Exists(keys.FairQueue(name)))
		w.redisson("java", redissonPatience)
		require.NoError(t, hold.Unlock(w.Context()))
		for p := range 2 {
			_, err = w.lock(p).TryLock(w.Context())
			require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		}
		w.redissonTakes("java", redissonPatience)
	})
}

// Redisson answers such an unlock with success. The lock was lost all the same; whoever is next is told.
func TestUnlockOfALockThatIsGoneIsLossAndWakesTheNext(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		done := w.stands(1, "next", redlatch.WithPoll(time.Hour), fairlock.WithPatience(10*time.Hour))
		w.mini.Del(name)
		start := time.Now()
		require.ErrorIs(t, hold.Unlock(w.Context()), redlatch.ErrLost)
		require.NoError(t, <-done)
		require.Zero(t, time.Since(start))
	})
}

func TestInspectTellsWhoWaits(t *testing.T) {
	bubble(t, 2, func(w *world) {
		lock := w.lock(0)
		hold, err := lock.Lock(w.Context())
		require.NoError(t, err)
		ours := w.stands(0, "ours")
		w.redisson("java", redissonPatience)
		other := w.stands(1, "other")
		info, err := lock.Inspect(w.Context())
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		require.Equal(t, hold.Owner(), info.Holders[0].Owner)
		require.EqualValues(t, 1, info.Waiters)
		require.Equal(t, redlatch.KindFairLock, info.Kind)
		require.Len(t, info.Queue, 3)
		require.Equal(t, redlatch.Waiter{Owner: "java"}, info.Queue[1])
		require.True(t, info.Queue[0].Own)
		require.False(t, info.Queue[2].Own)
		require.NoError(t, hold.Unlock(w.Context()))
		require.NoError(t, <-ours)
		w.redissonTakes("java", redissonPatience)
		w.mini.Del(name)
		require.NoError(t, <-other)
	})
}

func TestWithPatienceIsOfFairLocksAndNotTooShort(t *testing.T) {
	client := redistest.Mini(t).Client(t)
	_, err := fairlock.New(client, name).Lock(t.Context(), fairlock.WithPatience(100*time.Millisecond))
	require.ErrorIs(t, err, redlatch.ErrInvalid)
	require.ErrorContains(t, err, "WithPatience(100ms): at least 300ms")
	hold, err := fairlock.New(client, name).Lock(t.Context(), fairlock.WithPatience(300*time.Millisecond))
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
}
