package interop_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// queued is how many wait for a fair lock.
func (w *world) queued(t *testing.T, o object) int64 {
	n, err := w.client.LLen(t.Context(), "redisson_lock_queue:{"+o.name+"}").Result()
	require.NoError(t, err)
	return n
}

func TestAFairLockKeepsTheOrderOfArrivalAcrossLanguages(t *testing.T) {
	w := singleWorld(t)
	for _, kind := range []string{"fair", "nonreentrantfair"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object(kind)
				require.NoError(t, first.lock(o, how{}))
				var (
					mu          sync.Mutex
					came, order []string
					all         []<-chan error
				)
				for i := range int64(10) {
					a := w.sameSide(t, second)
					if i%3 == 1 {
						a = w.sameSide(t, first)
					}
					name := fmt.Sprintf("%s %d", a.side(), i)
					came = append(came, name)
					all = append(all, start(func() error {
						if err := a.lock(o, how{}); err != nil {
							return err
						}
						mu.Lock()
						order = append(order, name)
						mu.Unlock()
						return a.unlock(o)
					}))
					eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == i+1 })
				}
				released := time.Now()
				require.NoError(t, first.unlock(o))
				for _, done := range all {
					await(t, "its turn", done)
				}
				require.Equal(t, came, order)
				require.Less(t, time.Since(released), 2*soon, "each is woken by a message")
				require.Empty(t, w.keys(t, o))
			})
		})
	}
}

// The one between two waiters leaves, and the order of the others stays; then the first leaves when it is its turn.
func TestAWaiterThatLeavesTheQueueOpensTheWayForTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("fair")
		require.NoError(t, first.lock(o, how{}))
		leaver := w.sameSide(t, first)
		left := start(func() error { return leaver.lock(o, how{wait: time.Second}) })
		eventually(t, "a place in the queue", func() bool { return w.queued(t, o) == 1 })
		got := start(func() error { return second.lock(o, how{}) })
		eventually(t, "a place in the queue", func() bool { return w.queued(t, o) == 2 })
		require.ErrorIs(t, <-left, errBusy)
		eventually(t, "its leaving", func() bool { return w.queued(t, o) == 1 })
		released := time.Now()
		require.NoError(t, first.unlock(o))
		await(t, "the lock", got)
		require.Less(t, time.Since(released), soon)
		require.NoError(t, second.unlock(o))
		require.Empty(t, w.keys(t, o))
	})
}

// Who asks only once does not overtake those who wait, whichever side they are of.
func TestATryDoesNotOvertakeTheQueueOfTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("fair")
		// Somebody waits who has been asleep, or cut off, since: the lock is free, and it is not the others' turn.
		now, err := w.client.Time(t.Context()).Result()
		require.NoError(t, err)
		sleeper := "b983c153-7421-469a-addb-44fb92259a1b:42"
		require.NoError(t, w.client.RPush(t.Context(), "redisson_lock_queue:{"+o.name+"}", sleeper).Err())
		require.NoError(t, w.client.Do(t.Context(), "ZADD", "redisson_lock_timeout:{"+o.name+"}",
			now.Add(1500*time.Millisecond).UnixMilli(), sleeper).Err())
		require.ErrorIs(t, first.tryLock(o, 0), errBusy)
		require.ErrorIs(t, second.tryLock(o, 0), errBusy)
		if second.side() == "Go" {
			second = w.pollingGo(t, 500*time.Millisecond) // nobody sends a message when a deadline passes
		}
		require.NoError(t, second.lock(o, how{}), "its patience is over")
		require.GreaterOrEqual(t, serverTime(t, w).Sub(now), 1500*time.Millisecond-time.Millisecond)
		require.NoError(t, second.unlock(o))
		require.Empty(t, w.keys(t, o))
	})
}

func serverTime(t *testing.T, w *world) time.Time {
	now, err := w.client.Time(t.Context()).Result()
	require.NoError(t, err)
	return now
}
