package dispatch

import (
	"sync/atomic"
	"testing"

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
