package cohort_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

func TestAStreakIsOver(t *testing.T) {
	const ms = time.Millisecond
	began := time.Now()
	for _, c := range []struct {
		what   string
		streak cohort.Streak
		after  time.Duration // it is over then, and not a nanosecond before
	}{
		{"where others wait", cohort.Streak{}, 2 * ms},
		{"where nobody else waits", cohort.Streak{Alone: true}, 10 * ms},
		{"on a short way", cohort.Streak{Trip: ms / 2}, 2 * ms},
		{"on a long way", cohort.Streak{Trip: 3 * ms}, 6 * ms},
		{"alone on a long way", cohort.Streak{Trip: 30 * ms, Alone: true}, 60 * ms},
		{"on a way that takes for ever", cohort.Streak{Trip: time.Hour}, 100 * ms},
		{"after scripts", cohort.Streak{Scripts: 32}, 0},
		{"before that many", cohort.Streak{Scripts: 31}, 2 * ms},
		{"alone after scripts", cohort.Streak{Scripts: 64, Alone: true}, 0},
		{"alone before that many", cohort.Streak{Scripts: 63, Alone: true}, 10 * ms},
		{"whatever the number of local hand-offs", cohort.Streak{Given: 1e9}, 2 * ms},
	} {
		c.streak.Began, c.streak.News = began, began.Add(time.Hour) // news do not lengthen it
		require.True(t, c.streak.Over(began.Add(c.after)), c.what)
		if c.after > 0 {
			require.False(t, c.streak.Over(began.Add(c.after-1)), c.what)
		}
	}
}

func TestTheNewsOfAStreakIsFreshForAsLongAsAStreakLasts(t *testing.T) {
	const ms = time.Millisecond
	began := time.Now()
	for _, c := range []struct {
		what   string
		streak cohort.Streak
		bound  time.Duration
	}{
		{"where others wait", cohort.Streak{}, 2 * ms},
		{"where nobody else waits", cohort.Streak{Alone: true, Trip: ms}, 10 * ms},
		{"on a long way", cohort.Streak{Trip: 3 * ms}, 6 * ms},
		{"on a way that takes for ever", cohort.Streak{Trip: time.Hour}, 100 * ms},
		{"of another process", cohort.Streak{Blur: cohort.Blurred, Trip: ms}, 5 * ms},
	} {
		s := c.streak
		s.Began, s.News = began.Add(-time.Hour), began // that the streak is over is another matter
		require.True(t, s.Fresh(began.Add(c.bound)), c.what)
		require.False(t, s.Fresh(began.Add(c.bound+1)), c.what)
		require.Equal(t, c.bound-ms, s.FreshFor(began.Add(ms)), c.what)
		own := c.bound // of what this process has asked itself
		if c.streak.Blur > 0 {
			own = 2 * ms
		}
		s.Confirmed(began.Add(time.Second))
		require.True(t, s.Fresh(began.Add(time.Second+own)), c.what)
		require.False(t, s.Fresh(began.Add(time.Second+own+1)), c.what)
	}
}

func TestAStreakKnowsSinceWhenOutsidersAreShutOut(t *testing.T) {
	began := time.Now()
	s := cohort.Streak{Began: began}
	require.Equal(t, began, s.Shut(), "the thing was free before")
	s.ClosedSince = began.Add(-time.Second)
	require.Equal(t, began.Add(-time.Second), s.Shut())
}
