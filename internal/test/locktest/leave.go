package locktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// What is promised of a hold that is left to its lease.
var leaveCases = []trial{
	{"a hold that is left ends, and its lock ends with the lease", nil, func(l *lab) {
		var seen recorder
		lock := l.lock(seen.option())
		hold := l.take(lock, l.ctx, redlatch.WithLease(5*time.Second))
		work := hold.Context(l.ctx)
		time.Sleep(time.Second)
		hold.Leave()
		require.ErrorIs(l, context.Cause(work), redlatch.ErrReleased)
		require.False(l, hold.Valid())
		require.Equal(l, 4*time.Second, l.ttl())
		require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrReleased)
		require.ErrorIs(l, hold.Extend(l.ctx, time.Minute), redlatch.ErrReleased)
		hold.Leave()
		require.Equal(l, 4*time.Second, l.ttl(), "nothing was sent")
		time.Sleep(3900 * time.Millisecond)
		l.refused(l.stranger(), l.ctx)
		time.Sleep(100 * time.Millisecond)
		l.isFree(l.stranger())
		time.Sleep(time.Minute)
		kinds, _ := seen.kinds()
		require.Equal(l, []redlatch.EventKind{redlatch.EventAcquired, redlatch.EventLeft}, kinds)
	}},
	{"a hold that is left is renewed no longer", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		time.Sleep(time.Minute)
		hold.Leave()
		l.refused(l.stranger(), l.ctx)
		time.Sleep(31 * time.Second)
		l.isFree(l.stranger())
	}},
	{"others of this process are served when the lease of a hold that was left is over", nil, func(l *lab) {
		lock := l.lock()
		if !l.has.Exclusive {
			return
		}
		hold := l.take(lock, l.ctx, redlatch.WithLease(5*time.Second))
		asked := l.asks(lock, l.ctx)
		time.Sleep(time.Second)
		start := time.Now()
		hold.Leave()
		got := <-asked
		require.NoError(l, got.err)
		require.GreaterOrEqual(l, got.at.Sub(start), 3900*time.Millisecond)
		require.LessOrEqual(l, got.at.Sub(start), 8*time.Second)
		l.give(got.hold)
	}},
	{"of holds that share a lock one may be left", bothWatchedAndReentrant, func(l *lab) {
		lock := l.lock()
		for _, leaveOuter := range []bool{true, false} {
			outer := l.take(lock, l.ctx)
			inner := l.take(lock, outer.Context(l.ctx))
			left, kept := inner, outer
			if leaveOuter {
				left, kept = outer, inner
			}
			left.Leave()
			time.Sleep(10 * time.Minute)
			require.True(l, kept.Valid())
			l.give(kept)
			l.refused(l.stranger(), l.ctx)
			time.Sleep(31 * time.Second)
			l.isFree(l.stranger())
		}
	}},
}
