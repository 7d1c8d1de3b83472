package locktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

func composite(f Features) bool { return !f.Owned }

func ownedAndReentrant(f Features) bool { return f.Owned && f.Reentrant }

// What is promised of a lock that is kept for a least time.
var atLeastCases = []trial{
	{"a lock with a least time stays taken after Unlock", owned, func(l *lab) {
		var seen recorder
		lock := l.lock(seen.option(), redlatch.WithAtLeast(10*time.Second))
		start := time.Now()
		hold := l.take(lock, l.ctx)
		work := hold.Context(l.ctx)
		time.Sleep(time.Second)
		require.NoError(l, hold.Unlock(l.ctx))
		require.Equal(l, time.Second, time.Since(start), "Unlock does not wait")
		require.ErrorIs(l, context.Cause(work), redlatch.ErrReleased)
		require.False(l, hold.Valid())
		require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrReleased)
		require.ErrorIs(l, hold.Extend(l.ctx, time.Minute), redlatch.ErrReleased)
		time.Sleep(time.Until(start.Add(9900 * time.Millisecond)))
		l.refused(l.stranger(), l.ctx)
		if l.has.Exclusive {
			l.refused(l.lock(), l.ctx)
		}
		time.Sleep(200 * time.Millisecond)
		l.isFree(l.stranger())
		require.NoError(l, l.take(lock, l.ctx, redlatch.WithAtLeast(time.Millisecond)).Unlock(l.ctx))
		time.Sleep(time.Minute)
		kinds, _ := seen.kinds()
		require.Equal(l, []redlatch.EventKind{
			redlatch.EventAcquired, redlatch.EventReleased, redlatch.EventAcquired, redlatch.EventReleased}, kinds)
	}},
	{"a least time that has passed keeps nobody out", owned, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithAtLeast(time.Second))
		time.Sleep(time.Second)
		require.NoError(l, hold.Unlock(l.ctx))
		l.isFree(l.stranger())
	}},
	{"a least time that is longer than the lease is kept by the lease, if the process dies", owned, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithAtLeast(time.Minute))
		time.Sleep(time.Second)
		require.NoError(l, hold.Unlock(l.ctx))
		require.GreaterOrEqual(l, l.ttl()-l.has.Beyond, 59*time.Second)
		require.LessOrEqual(l, l.ttl()-l.has.Beyond, 61500*time.Millisecond)
		time.Sleep(time.Minute)
		l.isFree(l.stranger())
	}},
	{"others are told when the least time is over", owned, func(l *lab) {
		for _, lock := range []redlatch.Locker{l.lock(), l.stranger()} {
			if !l.has.Exclusive {
				return
			}
			start := time.Now()
			hold := l.take(l.lock(), l.ctx, redlatch.WithAtLeast(10*time.Second))
			asked := l.asks(lock, l.ctx)
			time.Sleep(time.Second)
			require.NoError(l, hold.Unlock(l.ctx))
			got := <-asked
			require.NoError(l, got.err)
			require.GreaterOrEqual(l, got.at.Sub(start), 10*time.Second)
			require.LessOrEqual(l, got.at.Sub(start), 10*time.Second+200*time.Millisecond+l.has.Pause)
			l.give(got.hold)
		}
	}},
	{"the last Unlock of holds that share a lock keeps it for the first one's least time", ownedAndReentrant, func(l *lab) {
		for _, innerLast := range []bool{true, false} {
			lock := l.lock()
			start := time.Now()
			outer := l.take(lock, l.ctx, redlatch.WithAtLeast(10*time.Second))
			inner := l.take(lock, outer.Context(l.ctx))
			order := []*redlatch.Hold{inner, outer}
			if innerLast {
				order = []*redlatch.Hold{outer, inner}
			}
			for _, hold := range order {
				time.Sleep(time.Second)
				require.NoError(l, hold.Unlock(l.ctx))
			}
			time.Sleep(time.Until(start.Add(9900 * time.Millisecond)))
			l.refused(l.stranger(), l.ctx)
			time.Sleep(200 * time.Millisecond)
			l.isFree(l.stranger())
		}
	}},
	{"a lock that is taken away while it is kept is left to the next holder", owned, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithAtLeast(10*time.Second))
		require.NoError(l, hold.Unlock(l.ctx))
		l.lose()
		next := l.take(l.stranger(), l.ctx)
		time.Sleep(time.Minute)
		require.True(l, next.Valid())
		l.refused(l.lock(), l.ctx)
		l.give(next)
	}},
	{"a least time that the lease cannot keep is refused", owned, func(l *lab) {
		for _, short := range []redlatch.Option{redlatch.WithLease(time.Second), redlatch.WithMaxHold(time.Second)} {
			_, err := l.lock().Lock(l.ctx, redlatch.WithAtLeast(time.Minute), short)
			require.ErrorIs(l, err, redlatch.ErrInvalid)
		}
		_, err := l.lock().Lock(l.ctx, redlatch.WithAtLeast(0))
		require.ErrorIs(l, err, redlatch.ErrInvalid)
		l.isFree(l.stranger())
	}},
	{"a lock of several takes no least time", composite, func(l *lab) {
		_, err := l.lock().Lock(l.ctx, redlatch.WithAtLeast(time.Minute))
		require.ErrorIs(l, err, redlatch.ErrInvalid)
		require.ErrorContains(l, err, "WithAtLeast")
	}},
}
