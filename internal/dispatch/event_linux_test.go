package dispatch

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/test/redistest"
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

// deaf is an event whose signals the system never delivers.
func deaf() *event {
	e := newEvent()
	e.signal = func(uintptr) {}
	return e
}

func TestAWaiterLooksByItselfWhereTheSystemNeverSignals(t *testing.T) {
	e := deaf()
	defer e.close()
	var ready atomic.Bool
	looked, over := make(chan struct{}, 100), make(chan error)
	go func() {
		for range 3 {
			over <- e.wait(func(uintptr) bool { looked <- struct{}{}; return ready.CompareAndSwap(true, false) })
		}
	}()
	<-looked // and it sleeps
	ready.Store(true)
	e.set()
	require.NoError(t, <-over, "by the timer")
	<-looked
	ready.Store(true)
	e.rouse()
	require.NoError(t, <-over, "roused")
	ready.Store(true)
	require.NoError(t, <-over, "as whoever waits afterwards")
}

// A lone caller gets its reply, and returns with its context, although no event ever arrives.
func TestACallerIsNotStrandedWhereTheSystemNeverSignals(t *testing.T) {
	hangs, release := make(chan struct{}, 1), make(chan struct{})
	d := New(clientFunc(func(cmd redis.Cmder) {
		if cmd.Name() == "hang" {
			hangs <- struct{}{}
			<-release
		}
		cmd.(*redis.IntCmd).SetVal(7)
	}), nil, func() time.Duration { return time.Minute })
	require.NoError(t, d.Do(t.Context(), "key", redis.NewIntCmd(t.Context(), "get"), ToMaster))
	x := d.one.pollWorker()
	require.NotNil(t, x)
	deafen := func() {
		d.one.mu.Lock()
		defer d.one.mu.Unlock()
		for _, e := range []*event{x.come, x.back} {
			e.signal = func(uintptr) {}
		}
	}
	rests := func() bool {
		d.one.mu.Lock()
		defer d.one.mu.Unlock()
		return x.resting && !x.taken.Load() && !time.Now().Before(x.again)
	}
	redistest.Eventually(t, "the poll worker rests", rests)
	deafen()
	cmd := redis.NewIntCmd(t.Context(), "get")
	require.NoError(t, d.Do(t.Context(), "key", cmd, ToMaster))
	require.EqualValues(t, 7, cmd.Val())

	redistest.Eventually(t, "the poll worker may be used again", rests)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-hangs; cancel() }()
	var flight *InFlight
	require.ErrorAs(t, d.Do(ctx, "key", redis.NewIntCmd(t.Context(), "hang"), ToMaster), &flight)
	close(release)
	_, ended := flight.Wait(time.Minute)
	require.True(t, ended)
	redistest.Eventually(t, "the poll worker rests again", rests)
	d.one.mu.Lock()
	defer d.one.mu.Unlock()
	d.one.courier.(*pollCourier).worker = nil
	x.next <- batch{}
	x.come.rouse()
}

// A clientFunc executes each command by itself.
type clientFunc func(cmd redis.Cmder)

func (f clientFunc) Process(_ context.Context, cmd redis.Cmder) error {
	f(cmd)
	return cmd.Err()
}

func (f clientFunc) Pipeline() redis.Pipeliner { panic("a lone caller needs none") }

// A process that was out of file descriptors for a moment may have some again.
func TestAPollWorkerIsTriedAgainLaterWhereThereWasNoEvent(t *testing.T) {
	n := &node{of: &Dispatcher{linger: func() time.Duration { return time.Minute }}}
	c := &pollCourier{node: n}
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: limit.Max}))
	begin := time.Now()
	n.mu.Lock()
	taken := c.takeLocked()
	n.mu.Unlock()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.False(t, taken)
	require.WithinRange(t, c.none, begin.Add(longRest), time.Now().Add(longRest))

	c.none = time.Now().Add(time.Hour)
	require.False(t, c.takeLocked())
	c.none = time.Now()
	n.mu.Lock()
	require.True(t, c.takeLocked())
	x := c.worker
	n.mu.Unlock()
	x.taken.Store(false)
	x.next <- batch{}
	x.come.set()
}
