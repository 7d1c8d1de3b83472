package suite_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// What is left until a deadline may be less than nothing.
func TestAWaitThatIsOverBeforeItBeginsAsksOnce(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, first := redistest.InMemory(t)
		lock := rlock.New(first, "x", briefly.Linger(0))
		for _, wait := range []time.Duration{0, -1, -time.Hour} {
			h, err := lock.Lock(t.Context(), redlatch.WithWait(wait))
			require.NoError(t, err, "it is free")
			began := time.Now()
			_, err = lock.Lock(t.Context(), redlatch.WithWait(wait))
			require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			require.Zero(t, time.Since(began))
			require.NoError(t, h.Unlock(t.Context()))
		}
		synctest.Wait()
	})
}
