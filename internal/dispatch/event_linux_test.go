package dispatch

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnEventWakesItsWaiterEachTime(t *testing.T) {
	e := newEvent()
	require.NotNil(t, e)
	defer e.close()
	turn := make(chan struct{})
	var ready atomic.Bool
	go func() {
		defer close(turn)
		for range 1000 {
			if e.wait(func(uintptr) bool { return ready.CompareAndSwap(true, false) }) != nil {
				return
			}
			turn <- struct{}{}
		}
	}()
	for range 1000 {
		ready.Store(true)
		e.set()
		<-turn
	}
	<-turn
}

func TestAnEventThatIsClosedWakesNobodyAndEndsTheWait(t *testing.T) {
	e := newEvent()
	ended, waits := make(chan error), make(chan struct{})
	go func() {
		once := false
		ended <- e.wait(func(uintptr) bool {
			if !once {
				once = true
				close(waits)
			}
			return false
		})
	}()
	<-waits
	e.close()
	require.Error(t, <-ended)
	e.set() // its number may belong to another file by now
	require.Error(t, e.wait(func(uintptr) bool { t.Error("asked after the end"); return true }))
}

// A process that was out of file descriptors for a moment may have some again.
func TestAnExpressIsTriedAgainLaterWhereThereWasNoEvent(t *testing.T) {
	n := &node{linger: func() time.Duration { return time.Minute }}
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: limit.Max}))
	begin := time.Now()
	n.mu.Lock()
	x := n.expressLocked()
	n.mu.Unlock()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.Nil(t, x)
	require.WithinRange(t, n.noExpress, begin.Add(longRest), time.Now().Add(longRest))

	n.noExpress = time.Now().Add(time.Hour)
	require.Nil(t, n.expressLocked())
	n.noExpress = time.Now()
	n.mu.Lock()
	x = n.expressLocked()
	n.mu.Unlock()
	require.NotNil(t, x)
	x.seated.Store(false)
	x.next <- batch{}
	x.come.set()
}
