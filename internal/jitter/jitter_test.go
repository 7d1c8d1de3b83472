package jitter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/jitter"
)

func TestJitterIsBelowItsBoundAndVaries(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := jitter.Below(time.Second)
		require.True(t, d >= 0 && d < time.Second, d)
		seen[d] = true
	}
	require.Greater(t, len(seen), 100)
}

func TestAnotherSourceIsAskedUntilItIsTakenAway(t *testing.T) {
	restore := jitter.Replace(func(n int64) int64 { return n - 1 })
	require.Equal(t, time.Second-1, jitter.Below(time.Second))
	inner := jitter.Replace(func(int64) int64 { return 0 })
	require.Zero(t, jitter.Below(time.Second))
	inner()
	require.Equal(t, time.Second-1, jitter.Below(time.Second))
	restore()
	require.Less(t, jitter.Below(1), time.Duration(1))
}
