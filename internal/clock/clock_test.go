package clock_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/clock"
)

func TestASuspensionAgesWhatCameBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var total atomic.Int64
		defer clock.Fake(func() time.Duration { return time.Duration(total.Load()) })()
		first := clock.Now()
		time.Sleep(time.Second)
		total.Store(int64(time.Hour))
		require.Equal(t, first, clock.Aged(first), "nobody has noticed")
		second := clock.Now()
		require.Equal(t, time.Hour+time.Second, second.Sub(clock.Aged(first)))
		require.Equal(t, second, clock.Aged(second))
		require.Equal(t, time.Hour, clock.Suspended())
		time.Sleep(time.Second)
		total.Add(int64(time.Minute))
		third := clock.Now()
		require.Equal(t, time.Hour+time.Minute+2*time.Second, third.Sub(clock.Aged(first)))
		require.Equal(t, time.Minute+time.Second, third.Sub(clock.Aged(second)))
		require.Equal(t, third.Add(time.Second), clock.Aged(third.Add(time.Second)), "the future is not aged")
	})
}

func TestOfManySuspensionsTheOldestAreForgottenOnTheSafeSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var total atomic.Int64
		defer clock.Fake(func() time.Duration { return time.Duration(total.Load()) })()
		start := clock.Now()
		for range 1000 {
			time.Sleep(time.Second)
			total.Add(int64(time.Second))
			clock.Now()
		}
		require.Equal(t, 2000*time.Second, clock.Now().Sub(clock.Aged(start)))
	})
}

func TestAFakeClockIsNeverSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.False(t, clock.Stops())
		start := clock.Now()
		time.Sleep(24 * time.Hour)
		require.Equal(t, 24*time.Hour, clock.Now().Sub(start))
		require.Zero(t, clock.Suspended())
	})
}

func TestARealClockThatWasNotSuspendedAgesNothing(t *testing.T) {
	start := clock.Now()
	for range 1000 {
		require.False(t, clock.Now().Before(start))
	}
	require.Equal(t, start, clock.Aged(start))
}
