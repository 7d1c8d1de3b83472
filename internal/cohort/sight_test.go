package cohort

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOnlyWhoWaitsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, key, holder := &Registry{}, KeyFor("orders:42", "lock"), &Holder{Gives: true}
		for range 3 {
			r.Hold(key, holder)
			r.Free(key, holder, false)
		}
		require.Empty(t, r.All(), "nobody has waited")

		r.Hold(key, holder)
		_, _, part := r.Join(key, deaf)
		time.Sleep(3 * time.Millisecond)
		part()
		for range 3 { // a hand-off has the next one hold, and counts nothing
			holder = &Holder{Gives: true}
			r.Hold(key, holder)
		}
		all := r.All()
		require.Len(t, all, 1)
		require.EqualValues(t, 1, all[0].Waits)
		require.Equal(t, 3*time.Millisecond, all[0].Waited)
		r.Free(key, holder, false)
		require.Empty(t, r.All(), "the count ends with the cohort")
	})
}
