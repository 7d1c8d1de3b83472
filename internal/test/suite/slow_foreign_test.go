package suite_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlatchtest"
)

// A stranger is a lock of the program's own, which belongs to no client.
type stranger struct {
	*redlatchtest.Locker
	inspect func() redlatch.Info
}

func (s stranger) Inspect(context.Context) (redlatch.Info, error) { return s.inspect(), nil }

// Without help a panic on the goroutine of a timer ends the process.
func TestASlowWaitForLocksOfTheProgramsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine := redlatchtest.NewLocker("mine")
		hold := acquired(t, mine)
		inspected := 0
		member := stranger{mine, func() redlatch.Info {
			if inspected++; inspected == 1 {
				panic("ouch")
			}
			return redlatch.Info{Holders: []redlatch.Holder{{Owner: hold.Owner()}}}
		}}
		var seen slowness
		lock := multilock.New([]redlatch.Locker{member}, redlatch.WithSlowWait(time.Second), redlatch.WithWait(90*time.Second), seen.option())
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				_, err := lock.Lock(t.Context())
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			})
		}
		waiting.Wait()
		all := seen.all()
		require.Len(t, all, 2, "once a minute, although each call is another")
		require.ErrorContains(t, all[0].Err, "has panicked: ouch")
		require.NoError(t, all[1].Err)
		require.Equal(t, hold.Owner(), all[1].Owner)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}
