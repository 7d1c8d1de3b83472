package fairlock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
)

// Redisson's waiter in front takes its five minutes off everybody behind. Ours must have that much to spare, or the
// next script of Redisson's would remove them.
func TestAJavaWaiterThatAcquiresDoesNotCostOursTheirPlaces(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		w.redisson("java", redissonPatience)
		var waits []chan error
		var want []string
		for n := range 6 {
			who := fmt.Sprint(n)
			want = append(want, who)
			waits = append(waits, w.stands(n%2, who))
		}
		time.Sleep(5*time.Minute + time.Second) // java has 29 s left, and nobody polls at this moment
		require.NoError(t, hold.Unlock(w.Context()))
		w.redissonTakes("java", redissonPatience)
		w.sweep()
		require.Len(t, w.clients[0].LRange(w.Context(), keys.FairQueue(name), 0, -1).Val(), 6)
		w.mini.Del(name) // java's lease is over without a message
		for _, done := range waits {
			require.NoError(t, <-done)
		}
		require.Equal(t, want, w.served())
	})
}

// A dead entry of Redisson's is left to Redisson's rule, and what stood behind it is not changed by its removal.
func TestAJavaWaiterBehindOursIsServedByOurRelease(t *testing.T) {
	bubble(t, 1, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		first := w.stands(0, "ours")
		w.redisson("java", redissonPatience)
		ear := w.clients[0].Subscribe(w.Context(), keys.LockChannel(name)+":java")
		defer ear.Close()
		_, err = ear.Receive(w.Context())
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(w.Context()))
		require.NoError(t, <-first)
		message, err := ear.ReceiveMessage(w.Context())
		require.NoError(t, err)
		require.Equal(t, "0", message.Payload)
		deadline := time.UnixMilli(int64(w.clients[0].ZScore(w.Context(), keys.FairTimeouts(name), "java").Val()))
		require.Equal(t, 10*time.Second+redissonPatience, time.Until(deadline), "as if it had come when the lock was handed to ours")
		w.redissonTakes("java", redissonPatience)
	})
}

// Redisson's own would be removed five and a half minutes after it came. Behind a waiter of ours that lives, it is not;
// and once that is served it has what Redisson gives to one who has just come.
func TestAJavaWaiterBehindOursKeepsItsPlaceForAsLongAsOursDoes(t *testing.T) {
	bubble(t, 1, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		first := w.stands(0, "ours")
		w.redisson("java", redissonPatience)
		time.Sleep(time.Hour + time.Second)
		w.sweep()
		require.NoError(t, hold.Unlock(w.Context()))
		require.NoError(t, <-first)
		left := time.Until(time.UnixMilli(int64(w.clients[0].ZScore(w.Context(), keys.FairTimeouts(name), "java").Val())))
		require.LessOrEqual(t, left, 30*time.Second+redissonPatience)
		require.Greater(t, left, redissonPatience)
		w.redissonTakes("java", redissonPatience)
	})
}

// A call of Redisson's whose time is over when the lock has just been left to it leaves the queue, and tells nobody.
func TestATurnThatAJavaWaiterGivesUpIsTakenWithinASecond(t *testing.T) {
	bubble(t, 1, func(w *world) {
		for range 5 {
			hold, err := w.lock(0).Lock(w.Context())
			require.NoError(t, err)
			w.redisson("java", redissonPatience)
			behind := w.stands(0, "ours")
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, hold.Unlock(w.Context()))
			time.Sleep(time.Millisecond)
			require.EqualValues(t, 1, w.clients[0].LRem(w.Context(), keys.FairQueue(name), 1, "java").Val())
			require.EqualValues(t, 1, w.clients[0].ZRem(w.Context(), keys.FairTimeouts(name), "java").Val())
			free := time.Now()
			require.NoError(t, <-behind)
			require.LessOrEqual(t, time.Since(free), time.Second)
		}
	})
}
