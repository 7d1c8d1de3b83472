package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPollWorkerRestsLongerAfterEachSlowHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rest := func(x *pollWorker) time.Duration { return time.Until(x.again) }
		x := &pollWorker{}
		x.judge(slow - 1)
		require.True(t, x.again.IsZero())
		for _, want := range []time.Duration{20, 40, 80, 160, 320, 640, 1000, 1000} {
			x.judge(slow)
			require.Equal(t, want*time.Millisecond, rest(x))
			for range manyQuick - 1 {
				x.judge(0)
			}
		}
		x.judge(0)
		x.judge(slow)
		require.Equal(t, firstRest, rest(x), "long quiet is forgiven")
	})
}

func TestAPollWorkerThatRestsAfterASlowHandOverIsNotUsed(t *testing.T) {
	n := &node{of: &Dispatcher{linger: func() time.Duration { return time.Minute }}}
	x := &pollWorker{node: n, resting: true, again: time.Now().Add(time.Hour)}
	c := &pollCourier{node: n, worker: x}
	require.False(t, c.takeLocked())
	x.again = time.Now()
	x.taken.Store(true)
	require.False(t, c.takeLocked(), "its last caller is still on the way out")
	x.taken.Store(false)
	require.True(t, c.takeLocked())
	require.Same(t, x, c.worker)
	require.False(t, c.takeLocked(), "it is under way")
}

func TestSweepsDoNotSpinForAPollWorkerThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{of: &Dispatcher{}}
		n.of.linger = func() time.Duration { // as another primitive of the client has set it meanwhile
			if n.sweeps > 5000 {
				return time.Hour
			}
			return 0
		}
		c := &pollCourier{node: n, worker: &pollWorker{node: n}}
		n.courier = c
		n.mu.Lock()
		n.planLocked()
		n.mu.Unlock()
		time.Sleep(time.Second)
		n.mu.Lock()
		defer n.mu.Unlock()
		require.LessOrEqual(t, n.sweeps, uint64(1000))
		c.worker = nil
	})
}
