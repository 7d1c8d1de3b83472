package locktest

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// A hold that the program drops is found by the garbage collector. The hold must not be reachable from the test, so it
// is acquired and dropped in functions of their own.
var forgetCases = []trial{
	{"a forgotten hold is reported and ends with its lease", nil, func(l *lab) {
		l.forgets(func(lock redlatch.Locker) { l.acquireOnly(lock) })
	}},
	{"a hold is forgotten although a context of it was made from Background", nil, func(l *lab) {
		l.forgets(func(lock redlatch.Locker) { _ = l.acquireOnly(lock).Context(context.Background()) })
	}},
	{"a hold is forgotten although a context of it has a long-lived parent", nil, func(l *lab) {
		l.forgets(func(lock redlatch.Locker) { _ = l.acquireOnly(lock).Context(l.ctx) })
	}},
	{"a hold is forgotten although a child of its context was made", nil, func(l *lab) {
		l.forgets(func(lock redlatch.Locker) {
			child, cancel := context.WithTimeout(l.acquireOnly(lock).Context(l.ctx), time.Hour)
			require.NoError(l, child.Err())
			cancel() // a child that is not cancelled stands for work that goes on
		})
	}},
	{"a hold is given back when the observer that is told of it panics", nil, func(l *lab) {
		lock := l.lock(redlatch.WithObserver(redlatch.ObserverFunc(func(context.Context, redlatch.Event) { panic("observer") })))
		require.PanicsWithValue(l, "observer", func() { _, _ = lock.Lock(l.ctx) })
		require.Empty(l, l.left(l.name))
		l.isFree(l.stranger())
	}},
	{"work that still has the hold's context still holds", nil, func(l *lab) {
		forgotten, lock := l.forgetful(8 * time.Second)
		func() {
			child, cancel := context.WithCancel(l.acquireOnly(lock).Context(l.ctx))
			defer cancel()
			for range 20 {
				runtime.GC()
				time.Sleep(time.Millisecond) // for a report that must not come; too short a time only finds less
			}
			select {
			case <-forgotten:
				l.Fatal("the hold was found forgotten although a child of its context is reachable")
			default:
			}
			require.NoError(l, child.Err())
			l.refused(l.stranger(), l.ctx)
			runtime.KeepAlive(child)
		}()
		l.eventually("nothing reaches the hold any more, and that is noticed", func() bool {
			runtime.GC()
			return len(forgotten) > 0
		})
	}},
	{"a hold that was given back is not forgotten", nil, func(l *lab) {
		forgotten, lock := l.forgetful(8 * time.Second)
		func() { require.NoError(l, l.acquireOnly(lock).Unlock(l.ctx)) }()
		for range 20 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		select {
		case <-forgotten:
			l.Fatal("reported as forgotten although it was given back")
		default:
		}
	}},
}

// forgetful makes a lock with a short lease and tells of holds that are found forgotten.
func (l *lab) forgetful(watchdog time.Duration) (<-chan redlatch.Event, redlatch.Locker) {
	events := make(chan redlatch.Event, 100)
	return events, l.lock(redlatch.WithWatchdogTimeout(watchdog), redlatch.WithLogger(slog.New(slog.DiscardHandler)),
		redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventForgotten {
				events <- e
			}
		})))
}

//go:noinline
func (l *lab) acquireOnly(lock redlatch.Locker) *redlatch.Hold {
	hold, err := lock.Lock(l.ctx)
	require.NoError(l, err)
	return hold
}

// forgets requires that a hold that drop acquires and drops is noticed, and its lock free a little later.
func (l *lab) forgets(drop func(redlatch.Locker)) {
	l.Helper()
	forgotten, lock := l.forgetful(1500 * time.Millisecond)
	drop(lock)
	l.eventually("the forgotten hold is reported", func() bool {
		runtime.GC()
		return len(forgotten) > 0
	})
	require.Equal(l, l.name, (<-forgotten).Name)
	got := await(l, "the lock", l.asks(l.stranger(redlatch.WithPoll(100*time.Millisecond)), l.ctx))
	require.NoError(l, got.err)
	l.give(got.hold)
}
