package cohort_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

func TestBoundStaysBetweenItsLeastSleepAndThePollInterval(t *testing.T) {
	const least = 50 * time.Millisecond
	answers := []time.Duration{
		-1, -time.Millisecond, 0, 1, time.Millisecond, 49 * time.Millisecond, 50 * time.Millisecond, 99 * time.Millisecond,
		time.Second, 2999 * time.Millisecond, 3 * time.Second, 30 * time.Second, 1<<63 - 1,
	}
	for _, poll := range []time.Duration{least, 51 * time.Millisecond, 75 * time.Millisecond, time.Second, 3 * time.Second, time.Hour} {
		for _, again := range answers {
			for range 300 {
				got := cohort.Bound(again, poll)
				require.GreaterOrEqual(t, got, least, "Bound(%v, %v)", again, poll)
				require.LessOrEqual(t, got, poll, "Bound(%v, %v)", again, poll)
			}
		}
	}
}

func TestBoundSleepsNoShorterThanTheRemainingLeaseAndAtMostATenthLonger(t *testing.T) {
	for _, again := range []time.Duration{60 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second} {
		seen := map[time.Duration]bool{}
		for range 300 {
			got := cohort.Bound(again, time.Minute)
			require.GreaterOrEqual(t, got, again)
			require.LessOrEqual(t, got, again+min(again/10, 100*time.Millisecond))
			seen[got] = true
		}
		require.Greater(t, len(seen), 150, "processes that saw the same expiry would ask in the same millisecond")
	}
}

func TestBoundPollsWithJitterWhenTheServerCannotTell(t *testing.T) {
	for _, again := range []time.Duration{-1, 3 * time.Second, time.Hour} {
		seen := map[time.Duration]bool{}
		for range 100 {
			got := cohort.Bound(again, 3*time.Second)
			require.GreaterOrEqual(t, got, 2700*time.Millisecond)
			seen[got] = true
		}
		require.Greater(t, len(seen), 50, "processes that saw the same expiry would ask in the same millisecond")
	}
}
