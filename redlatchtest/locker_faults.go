package redlatchtest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/redlatch/redlatch"
)

// A fault is a Fail in force.
type fault struct {
	err    error
	unfree int // releases that wait for its end
}

// Busy has another process hold the lock, until free is called: Lock waits, and TryLock fails with ErrNotAcquired. A hold of
// the test that is in force stays, and the other process comes after it.
func (l *Locker) Busy() (free func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keepLocked()
}

// Fail has the server be out of reach until restore is called: Lock, TryLock, Unlock and Extend fail at once with an error that
// matches err and ErrUnavailable. Calls that wait already go on waiting, and holds last. A hold whose Unlock has failed gives
// the lock back at restore.
func (l *Locker) Fail(err error) (restore func()) {
	f := &fault{err: fmt.Errorf("%w: %w", redlatch.ErrUnavailable, err)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, f)
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.faults = slices.DeleteFunc(l.faults, func(other *fault) bool { return other == f })
		l.kept -= f.unfree
		l.serveLocked()
	})
}

func (l *memory) faultLocked() *fault {
	if len(l.faults) == 0 {
		return nil
	}
	return l.faults[0]
}

// Lose has the holds in force be lost: their contexts end with a *redlatch.LossError that has the cause, which may be nil, and
// Unlock returns the same error. The lock is free then.
func (l *Locker) Lose(cause error) {
	l.mu.Lock()
	lost := slices.Clone(l.holds)
	l.mu.Unlock()
	for _, f := range lost {
		f.lose(redlatch.ReasonTaken, byTheTest, cause)
	}
}
