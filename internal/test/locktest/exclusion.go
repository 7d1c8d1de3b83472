package locktest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

var exclusionCases = []trial{
	{"goroutines that share a lock exclude each other", exclusive, func(l *lab) {
		l.crowd(l.ctx, l.lock(), l.lock())
	}},
	{"goroutines whose context cannot end exclude each other", exclusive, func(l *lab) {
		l.crowd(context.Background(), l.lock())
	}},
	{"processes exclude each other", nil, func(l *lab) {
		l.crowd(l.ctx, l.lock(), l.stranger())
	}},
	{"a try refuses what somebody else holds and disturbs nobody", nil, func(l *lab) {
		hold := l.take(l.stranger(), l.ctx)
		lock := l.lock()
		_, err := lock.TryLock(l.ctx)
		require.ErrorIs(l, err, redlatch.ErrNotAcquired)
		require.NotErrorIs(l, err, context.Canceled)
		require.NotErrorIs(l, err, context.DeadlineExceeded)
		require.NotErrorIs(l, err, redlatch.ErrInvalid)
		require.Contains(l, err.Error(), l.name)
		require.True(l, hold.Valid())
		l.give(hold)
		l.isFree(lock)
	}},
	{"a try takes what is free", nil, func(l *lab) {
		lock := l.lock()
		hold, err := lock.TryLock(l.ctx)
		require.NoError(l, err)
		l.refused(l.stranger(), l.ctx)
		l.give(hold)
		l.isFree(l.stranger())
	}},
	{"the same goroutine does not hold without the hold's context", exclusive, func(l *lab) {
		lock := l.lock()
		hold := l.take(lock, l.ctx)
		l.refused(lock, l.ctx)
		l.give(hold)
	}},
	{"each acquisition has an owner of its own", owned, func(l *lab) {
		lock := l.lock()
		first := l.take(lock, l.ctx)
		owner := first.Owner()
		require.NotEmpty(l, owner)
		l.give(first)
		second := l.take(lock, l.ctx)
		require.NotEqual(l, owner, second.Owner())
		l.give(second)
	}},
	{"shared holders do not wait for each other", shared, func(l *lab) {
		lock := l.lock()
		first, second := l.take(lock, l.ctx), l.take(lock, l.ctx)
		blocker := l.stranger()
		l.refused(blocker, l.ctx)
		l.give(first)
		l.refused(blocker, l.ctx)
		l.give(second)
		l.isFree(blocker)
	}},
	{"a lock gives its name", nil, func(l *lab) { require.Equal(l, l.name, l.lock().Name()) }},
}

func exclusive(f Features) bool { return f.Exclusive }
func shared(f Features) bool    { return !f.Exclusive }
func owned(f Features) bool     { return f.Owned }

// crowd has 16 goroutines take turns at the locks. One number tells who is inside: each holder of a lock that others
// exclude counts for far more than there are goroutines. The first lock is the one under test, the others exclude it.
func (l *lab) crowd(ctx context.Context, locks ...redlatch.Locker) {
	l.Helper()
	const goroutines, rounds, alone = 16, 8, 1000
	var (
		inside atomic.Int64
		all    sync.WaitGroup
	)
	for i := range goroutines {
		lock, weight := locks[i%len(locks)], int64(alone)
		if i%len(locks) == 0 && !l.has.Exclusive {
			weight = 1
		}
		all.Go(func() {
			for range rounds {
				hold, err := lock.Lock(ctx)
				if err != nil {
					l.Errorf("lock: %v", err)
					return
				}
				if n := inside.Add(weight); n > alone || weight == 1 && n >= alone {
					l.Errorf("%d inside, in units of which %d are somebody who should be alone", n, alone)
				}
				inside.Add(-weight)
				if err := hold.Unlock(ctx); err != nil {
					l.Errorf("unlock: %v", err)
				}
			}
		})
	}
	all.Wait()
}
