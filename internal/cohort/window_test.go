package cohort_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

func TestAKeyIsWantedForAWhileAfterItWasLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r cohort.Registry
		key, other := cohort.KeyFor("key", "lock"), cohort.KeyFor("other", "lock")
		window := func(key cohort.Key) cohort.Window {
			_, _, open := r.Busy(key, false)
			return open
		}
		require.Zero(t, window(key))
		r.Yield(key, time.Now().Add(4*time.Millisecond), true)
		require.Equal(t, cohort.Window{Left: 4 * time.Millisecond, Told: true, Wanted: true}, window(key))
		require.Zero(t, window(other))
		time.Sleep(4 * time.Millisecond)
		require.Equal(t, cohort.Window{Wanted: true}, window(key), "the window is over, and the other process has the key")
		time.Sleep(50 * time.Millisecond)
		require.Zero(t, window(key))

		r.Yield(key, time.Now(), false) // handed to another process
		require.Equal(t, cohort.Window{Wanted: true}, window(key))
	})
}

func TestWindowsOfThePastAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r cohort.Registry
		for i := range 10_000 {
			r.Yield(cohort.KeyFor(fmt.Sprint(i), "lock"), time.Now(), false)
			time.Sleep(time.Millisecond)
		}
		require.Less(t, r.Windows(), 200, "some 50 are not over")
	})
}
