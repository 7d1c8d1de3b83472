package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestThePaceIsTheShortestOfTheLastOneOrTwoSeconds(t *testing.T) {
	const ms = time.Millisecond
	at := func(d time.Duration) int64 { return int64(1000*time.Hour + d) }
	p := minRTT{}
	require.Zero(t, p.shortest())
	for _, step := range []struct{ at, took, want time.Duration }{
		{0, 9 * ms, 9 * ms},
		{500 * ms, 2 * ms, 2 * ms},
		{900 * ms, 7 * ms, 2 * ms},
		{1000 * ms, 8 * ms, 2 * ms},
		{1999 * ms, 6 * ms, 2 * ms},
		{2000 * ms, 7 * ms, 6 * ms}, // the 2 ms are two intervals old
		{3000 * ms, 9 * ms, 7 * ms},
		{9000 * ms, 11 * ms, 11 * ms}, // after a silence nothing of before counts
		{8000 * ms, 3 * ms, 3 * ms},   // the clock was set back
		{9000 * ms, 4 * ms, 3 * ms},
	} {
		p.add(at(step.at), step.took)
		require.Equal(t, step.want, p.shortest(), "at %v", step.at)
	}
}

func TestALargeTripSaysNoMoreThanThatTheNetworkIsNotSlower(t *testing.T) {
	n := newNode(&Dispatcher{}, nil)
	land := func(commands int, took time.Duration) int {
		n.answered.Store(int64(time.Hour))
		n.landLocked(n.departLocked(commands), took)
		return n.limit
	}
	const large = smallTrip + 1
	require.Equal(t, fewLeaders, land(large, time.Second))
	require.Equal(t, fewLeaders, land(1, 0), "an error")
	require.Equal(t, maxLeaders, land(smallTrip, time.Second))
	require.Equal(t, 10, land(large, 10*perLeader))
	require.Equal(t, 10, land(large, time.Second))
	require.Equal(t, 8, land(1, 8*perLeader))
}

func TestATripThatHasSeenTwoTicksIsLateUntilItLands(t *testing.T) {
	n := newNode(&Dispatcher{}, nil)
	count := func() [3]int { return [3]int{n.fresh, n.older, n.stragglers} }
	first := n.departLocked(1)
	n.tick()
	second := n.departLocked(1)
	require.Equal(t, [3]int{1, 1, 0}, count())
	n.tick()
	require.Equal(t, [3]int{0, 1, 1}, count())
	n.landLocked(second, 0)
	require.Equal(t, [3]int{0, 0, 1}, count())
	n.tick()
	third := n.departLocked(1)
	n.landLocked(first, 0)
	require.Equal(t, [3]int{1, 0, 0}, count())
	n.landLocked(third, 0)
	require.Equal(t, [3]int{}, count())
}
