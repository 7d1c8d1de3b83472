package counter_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
)

// The server's memory does not stand still with this system.
func TestNothingIsSentAgainThatTheServerMayHaveForgottenDuringASuspension(t *testing.T) {
	inLab(t, func(l *lab) {
		var suspended atomic.Int64
		defer clock.Fake(func() time.Duration { return time.Duration(suspended.Load()) })()
		l.faults.lost.Store(true)
		_, err := l.giveBack(2)
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		synctest.Wait()
		sent := l.faults.sent.Load()
		suspended.Store(int64(3 * time.Minute))
		time.Sleep(4 * time.Second) // a pause and an attempt at most
		require.LessOrEqual(t, l.faults.sent.Load(), sent+1, "an attempt that was under way")
		require.ErrorContains(t, l.settledOnce().Err, "may have forgotten")
	})
}
