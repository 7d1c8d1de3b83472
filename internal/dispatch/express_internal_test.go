package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnExpressRestsLongerAfterEachTardyHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rest := func(x *express) time.Duration { return time.Until(x.again) }
		x := &express{}
		x.judge(tardy - 1)
		require.True(t, x.again.IsZero())
		for _, want := range []time.Duration{20, 40, 80, 160, 320, 640, 1000, 1000} {
			x.judge(tardy)
			require.Equal(t, want*time.Millisecond, rest(x))
			for range manyQuick - 1 {
				x.judge(0)
			}
		}
		x.judge(0)
		x.judge(tardy)
		require.Equal(t, firstRest, rest(x), "long quiet is forgiven")
	})
}

func TestAnExpressThatRestsAfterATardyHandOverIsNotUsed(t *testing.T) {
	n := &node{linger: func() time.Duration { return time.Minute }}
	n.express = &express{node: n, resting: true, again: time.Now().Add(time.Hour)}
	require.Nil(t, n.expressLocked())
	n.express.again = time.Now()
	n.express.seated.Store(true)
	require.Nil(t, n.expressLocked(), "its last caller is still on the way out")
	n.express.seated.Store(false)
	require.Same(t, n.express, n.expressLocked())
	require.Nil(t, n.expressLocked(), "it is under way")
}

func TestSweepsDoNotSpinForAnExpressThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{}
		n.linger = func() time.Duration { // as another primitive of the client has set it meanwhile
			if n.sweeps > 5000 {
				return time.Hour
			}
			return 0
		}
		n.express = &express{node: n}
		n.mu.Lock()
		n.planLocked()
		n.mu.Unlock()
		time.Sleep(time.Second)
		n.mu.Lock()
		defer n.mu.Unlock()
		require.LessOrEqual(t, n.sweeps, uint64(1000))
		n.express = nil
	})
}
