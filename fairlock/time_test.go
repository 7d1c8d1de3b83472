package fairlock_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/internal/keys"
)

// The number: while the lock is free and whoever is next is dead, waiting costs at most one command per process
// and poll interval. Each dead waiter of Redisson's is waited for for six seconds.
func TestADeadHeadCostsOneCommandPerProcessAndPoll(t *testing.T) {
	const processes, each, dead = 3, 5, 46
	bubble(t, processes, func(w *world) {
		for n := range dead {
			w.redisson(fmt.Sprint("dead ", n), redissonPatience)
		}
		var waits []chan error
		var want []string
		for n := range each {
			for p := range processes {
				who := fmt.Sprint(n, ".", p)
				want = append(want, who)
				waits = append(waits, w.stands(p, who))
			}
		}
		const interval = 3 * time.Second // the default poll
		time.Sleep(interval)
		before := w.scripts.Load()
		const intervals = 2*dead - 2
		time.Sleep(intervals * interval)
		require.LessOrEqual(t, w.scripts.Load()-before, int64((intervals+1)*processes)) // one may have just begun
		require.Empty(t, w.served())
		began := time.Now()
		for _, done := range waits {
			require.NoError(t, <-done)
		}
		require.Less(t, time.Since(began), 3*interval)
		require.Equal(t, want, w.served())
		require.Empty(t, w.mini.Keys())
	})
}

// One process stands for a dead one: it is cut off after its waiters have entered.
func TestADeadHeadOfOursIsPassedOverWithinItsPatience(t *testing.T) {
	for _, patience := range []time.Duration{redlatchDefaultPatience, time.Second, time.Minute} {
		t.Run(patience.String(), func(t *testing.T) {
			bubble(t, 2, func(w *world) {
				hold, err := w.lock(1).Lock(w.Context())
				require.NoError(t, err)
				opts := []redlatch.Option{fairlock.WithPatience(patience)}
				var dead []chan error
				for n := range 4 {
					dead = append(dead, w.stands(0, fmt.Sprint("dead ", n), opts...))
				}
				done := w.stands(1, "alive", opts...)
				time.Sleep(time.Minute)
				require.NoError(t, w.clients[0].Close())
				for _, d := range dead {
					require.ErrorIs(t, <-d, redis.ErrClosed)
				}
				require.NoError(t, hold.Unlock(w.Context()))
				start := time.Now()
				require.NoError(t, <-done)
				require.LessOrEqual(t, time.Since(start), patience+100*time.Millisecond)
				require.Equal(t, []string{"alive"}, w.served())
				require.Empty(t, w.mini.Keys())
			})
		})
	}
}

const redlatchDefaultPatience = 15 * time.Second

// Twenty minutes are far more than a deadline would last that was computed once.
func TestLivingWaitersKeepTheirPlacesHoweverLongTheyWait(t *testing.T) {
	bubble(t, 3, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		var waits []chan error
		var want []string
		for n := range 9 {
			who := fmt.Sprint(n)
			want = append(want, who)
			waits = append(waits, w.stands(n%3, who))
		}
		for range 20 {
			time.Sleep(time.Minute)
			w.sweep() // somebody in Java asks
		}
		require.NoError(t, hold.Unlock(w.Context()))
		w.sweep()
		for _, done := range waits {
			require.NoError(t, <-done)
		}
		require.Equal(t, want, w.served())
	})
}

// The process was suspended and its entries were removed. It stands at the end again, in the old order.
func TestWaitersThatWereRemovedStandAgain(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(0).Lock(w.Context())
		require.NoError(t, err)
		var waits []chan error
		for n := range 3 {
			waits = append(waits, w.stands(0, fmt.Sprint("suspended ", n)))
		}
		for _, key := range []string{keys.FairQueue(name), keys.FairTimeouts(name), keys.FairAlive(name)} {
			w.mini.Del(key)
		}
		waits = append(waits, w.stands(1, "other"))
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Len(t, w.clients[0].LRange(w.Context(), keys.FairQueue(name), 0, -1).Val(), 4)
		require.NoError(t, hold.Unlock(w.Context()))
		for _, done := range waits {
			require.NoError(t, <-done)
		}
		require.Equal(t, []string{"other", "suspended 0", "suspended 1", "suspended 2"}, w.served())
		require.Empty(t, w.mini.Keys())
	})
}

func TestAnIdleQueueCostsOneCommandPerProcessAndPoll(t *testing.T) {
	bubble(t, 2, func(w *world) {
		hold, err := w.lock(0, redlatch.WithLease(time.Hour)).Lock(w.Context())
		require.NoError(t, err)
		var waits []chan error
		for n := range 20 {
			waits = append(waits, w.stands(n%2, fmt.Sprint(n)))
		}
		time.Sleep(3 * time.Second)
		before := w.scripts.Load()
		time.Sleep(30 * time.Minute)
		polls, checks := int64(2*600), int64(30*6) // checks of the lease are the watchdog's
		// Of each kind one more may have just begun.
		require.LessOrEqual(t, w.scripts.Load()-before, polls+checks+2)
		require.NoError(t, hold.Unlock(w.Context()))
		for _, done := range waits {
			require.NoError(t, <-done)
		}
	})
}
