package interop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/countdownlatch"
)

func TestALatchIsSetByOneCountedByBothAndAwaitedByBoth(t *testing.T) {
	w := singleWorld(t)
	for _, form := range []string{"it-%d-x", "{grp}:it-%d-x"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.objectNamed("latch", form)
				err := second.await(o, 0)
				if _, is := second.(*goActor); is {
					require.ErrorIs(t, err, countdownlatch.ErrNotSet)
				} else {
					require.NoError(t, err, "to Java one that was never set is open")
				}
				for range 2 { // again once it has opened
					done, err := first.setUp(o, 3)
					require.NoError(t, err)
					require.True(t, done)
					done, err = second.setUp(o, 5)
					require.NoError(t, err)
					require.False(t, done)
					require.EqualValues(t, 3, available(t, second, o))
					refusedWithin(t, 50*time.Millisecond, func(h how) error { return second.await(o, h.wait) })
					refusedWithin(t, 50*time.Millisecond, func(h how) error { return first.await(o, h.wait) })

					var waiting []<-chan error
					for _, a := range []actor{w.sameSide(t, first), w.sameSide(t, first), w.sameSide(t, second), w.sameSide(t, second)} {
						waiting = append(waiting, start(func() error { return a.await(o, 0) }))
					}
					w.awaitListeners(t, o, 2)
					require.NoError(t, second.countDown(o))
					require.NoError(t, first.countDown(o))
					require.EqualValues(t, 1, available(t, first, o))
					opened := time.Now()
					require.NoError(t, second.countDown(o))
					for _, open := range waiting {
						await(t, "the latch", open)
					}
					require.Less(t, time.Since(opened), soon)
					require.Zero(t, available(t, first, o))
					require.NoError(t, first.countDown(o), "on an open latch nothing happens")
					require.Zero(t, available(t, second, o))
				}
				require.Empty(t, w.keys(t, o))
			})
		})
	}
}

// Redisson announces a deletion as a new count, at which its own waiters go on waiting, and ours do not. Our deletion
// opens the gate for both.
func TestTheDeletionOfALatchReleasesWhoeverCanBeReleased(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("latch")
		_, err := first.setUp(o, 2)
		require.NoError(t, err)
		open := start(func() error { return second.await(o, 0) })
		w.awaitWaiter(t, o)
		was, err := first.remove(o)
		require.NoError(t, err)
		require.True(t, was)
		deleted := time.Now()
		await(t, "the latch", open)
		require.Less(t, time.Since(deleted), soon)
	})
}
