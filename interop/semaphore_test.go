package interop_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func available(t *testing.T, a actor, o object) int64 {
	t.Helper()
	n, err := a.available(o)
	require.NoError(t, err)
	return n
}

func TestASemaphoreIsSetUpOnceAndCountedByBothSides(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("semaphore")
		require.Zero(t, available(t, second, o))
		done, err := first.setUp(o, 5)
		require.NoError(t, err)
		require.True(t, done)
		done, err = second.setUp(o, 7)
		require.NoError(t, err)
		require.False(t, done)
		_, err = second.tryAcquire(o, 3, 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, available(t, first, o))
		_, err = first.tryAcquire(o, 3, 0)
		require.ErrorIs(t, err, errBusy)
		require.NoError(t, first.release(o, 2, nil), "what the other acquired")
		require.EqualValues(t, 4, available(t, second, o))
		require.NoError(t, second.add(o, -10))
		require.EqualValues(t, -6, available(t, first, o))
		require.NoError(t, first.add(o, 15))
		require.EqualValues(t, 9, available(t, second, o))
		drained, err := second.drain(o)
		require.NoError(t, err)
		require.EqualValues(t, 9, drained)
		require.Zero(t, available(t, first, o))
		was, err := first.remove(o)
		require.NoError(t, err)
		require.True(t, was)
		require.Empty(t, w.keys(t, o))
	})
}

func TestPermitsThatComeWakeTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	for name, come := range map[string]func(a actor, o object) error{
		"release": func(a actor, o object) error { return a.release(o, 1, nil) },
		"add":     func(a actor, o object) error { return a.add(o, 1) },
		"set up": func(a actor, o object) error {
			_, err := a.remove(o)
			if err == nil {
				_, err = a.setUp(o, 2)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object("semaphore")
				_, err := first.setUp(o, 2)
				require.NoError(t, err)
				_, err = first.acquire(o, 2, how{})
				require.NoError(t, err)
				refusedWithin(t, 50*time.Millisecond, func(h how) error { _, err := second.acquire(o, 2, h); return err })
				waiter := w.sameSide(t, second)
				got := start(func() error { _, err := waiter.acquire(o, 2, how{}); return err })
				w.awaitWaiter(t, o)
				if name != "set up" {
					require.NoError(t, first.release(o, 1, nil))
					require.EqualValues(t, 1, available(t, second, o), "one does not suffice")
				}
				released := time.Now()
				require.NoError(t, come(first, o))
				await(t, "two permits", got)
				require.Less(t, time.Since(released), soon)
				require.Zero(t, available(t, first, o))
			})
		})
	}
}

// A process of ours is told first, and Redisson's waiter hears of the same raise.
func TestARaiseReachesWaitersOfBothSides(t *testing.T) {
	w := singleWorld(t)
	for _, kind := range []string{"semaphore", "permits"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object(kind)
				_, err := first.setUp(o, 2)
				require.NoError(t, err)
				ids, err := first.acquire(o, 2, how{})
				require.NoError(t, err)
				same, other := w.sameSide(t, first), w.sameSide(t, second)
				got := []<-chan error{
					start(func() error { _, err := same.acquire(o, 1, how{}); return err }),
					start(func() error { _, err := other.acquire(o, 1, how{}); return err }),
				}
				w.awaitListeners(t, o, 2)
				require.NoError(t, first.release(o, 2, ids))
				for _, done := range got {
					await(t, "a permit", done)
				}
				require.Zero(t, available(t, first, o))
			})
		})
	}
}

func TestASemaphoreNeverHasMoreHoldersThanPermits(t *testing.T) {
	w := singleWorld(t)
	for _, kind := range []string{"semaphore", "permits"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object(kind)
				_, err := first.setUp(o, 3)
				require.NoError(t, err)
				var inside, tooMany atomic.Int64
				var all []<-chan error
				for _, a := range []actor{first, w.sameSide(t, first), w.sameSide(t, first), second, w.sameSide(t, second), w.sameSide(t, second)} {
					all = append(all, start(func() error {
						for n := range int64(25) {
							n = n%2 + 1
							ids, err := a.acquire(o, n, how{})
							if err != nil {
								return err
							}
							if inside.Add(n) > 3 {
								tooMany.Add(1)
							}
							time.Sleep(time.Millisecond)
							inside.Add(-n)
							if err := a.release(o, n, ids); err != nil {
								return err
							}
						}
						return nil
					}))
				}
				for _, done := range all {
					await(t, "25 turns", done)
				}
				require.Zero(t, tooMany.Load())
				require.EqualValues(t, 3, available(t, second, o), "none is lost, none invented")
			})
		})
	}
}

func TestASemaphoreWithBracesInItsNameIsTheSameForBothSides(t *testing.T) {
	w := singleWorld(t)
	for _, kind := range []string{"semaphore", "permits"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.objectNamed(kind, "{grp}:it-%d-x")
				_, err := first.setUp(o, 1)
				require.NoError(t, err)
				ids, err := first.acquire(o, 1, how{})
				require.NoError(t, err)
				got := start(func() error { _, err := second.acquire(o, 1, how{}); return err })
				eventually(t, "a subscription", func() bool {
					channels, err := w.nodes[0].PubSubChannels(t.Context(), "redisson_sc:"+o.name).Result()
					return err == nil && len(channels) == 1
				})
				released := time.Now()
				require.NoError(t, first.release(o, 1, ids))
				await(t, "a permit", got)
				require.Less(t, time.Since(released), soon)
			})
		})
	}
}
