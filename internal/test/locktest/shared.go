package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// soon is after which time a lock is free that nobody promises to anybody any longer, on fake time.
const soon = time.Second

// Holds that share an identity: each ends with its own lease, and the lock stays for the longest that is still promised.
var sharedCases = []trial{
	{"a lease inside a renewed hold ends that hold alone", bothWatchedAndReentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx)
		inner := l.take(lock, outer.Context(l.ctx), redlatch.WithLease(300*time.Millisecond))
		l.endsWithin(inner, 300*time.Millisecond)
		time.Sleep(10 * time.Minute)
		require.True(l, outer.Valid())
		require.ErrorIs(l, inner.Extend(l.ctx, time.Minute), redlatch.ErrLost)
		require.ErrorIs(l, inner.Unlock(l.ctx), redlatch.ErrLost)
		require.ErrorIs(l, inner.Unlock(l.ctx), redlatch.ErrReleased)
		require.True(l, outer.Valid())
		l.refused(l.stranger(), l.ctx)
		l.give(outer)
		l.isFree(l.stranger())
	}},
	{"a lease is not prolonged by a nested hold that is renewed", bothWatchedAndReentrant, func(l *lab) {
		for _, innerFirst := range []bool{true, false} {
			lock := l.lock()
			outer := l.take(lock, l.ctx, redlatch.WithLease(500*time.Millisecond))
			work := outer.Context(l.ctx)
			inner := l.take(lock, work)
			innerWork := inner.Context(l.ctx)
			l.endsWithin(outer, 500*time.Millisecond)
			require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
			time.Sleep(10 * time.Minute)
			require.NoError(l, innerWork.Err())
			require.True(l, inner.Valid())
			l.refused(l.stranger(), l.ctx)
			if innerFirst {
				l.give(inner)
				l.isFree(l.stranger())
				strangers := l.take(l.stranger(), l.ctx)
				require.ErrorIs(l, outer.Unlock(l.ctx), redlatch.ErrLost)
				require.True(l, strangers.Valid())
				l.refused(l.lock(), l.ctx)
				l.give(strangers)
			} else {
				require.ErrorIs(l, outer.Unlock(l.ctx), redlatch.ErrLost)
				require.True(l, inner.Valid())
				l.refused(l.stranger(), l.ctx)
				l.give(inner)
			}
			l.isFree(l.stranger())
		}
	}},
	{"the lock does not stay for a renewed hold that was given back", bothWatchedAndReentrant, func(l *lab) {
		lock := l.lock()
		for _, order := range []string{"a lease outside", "a lease inside"} {
			var leased, renewed *redlatch.Hold
			start := time.Now()
			if order == "a lease outside" {
				leased = l.take(lock, l.ctx, redlatch.WithLease(5*time.Second))
				renewed = l.take(lock, leased.Context(l.ctx))
			} else {
				renewed = l.take(lock, l.ctx)
				leased = l.take(lock, renewed.Context(l.ctx), redlatch.WithLease(5*time.Second))
			}
			time.Sleep(time.Second)
			l.give(renewed)
			time.Sleep(3 * time.Second)
			require.True(l, leased.Valid(), order)
			l.refused(l.stranger(), l.ctx)
			l.endsWithin(leased, 5*time.Second-time.Since(start))
			time.Sleep(soon)
			l.isFree(l.stranger())
			require.ErrorIs(l, leased.Unlock(l.ctx), redlatch.ErrLost)
		}
	}},
	{"of two leases each ends its own hold, and the lock stays for the longer one", reentrant, func(l *lab) {
		lock := l.lock()
		for _, leases := range [][2]time.Duration{{2 * time.Second, 20 * time.Second}, {20 * time.Second, 2 * time.Second}} {
			outer := l.take(lock, l.ctx, redlatch.WithLease(leases[0]))
			inner := l.take(lock, outer.Context(l.ctx), redlatch.WithLease(leases[1]))
			short, long := outer, inner
			if leases[1] < leases[0] {
				short, long = inner, outer
			}
			l.endsWithin(short, 2*time.Second)
			time.Sleep(10 * time.Second)
			require.True(l, long.Valid())
			l.refused(l.stranger(), l.ctx)
			l.endsWithin(long, 8*time.Second)
			time.Sleep(soon)
			l.isFree(l.stranger())
			require.ErrorIs(l, short.Unlock(l.ctx), redlatch.ErrLost)
			require.ErrorIs(l, long.Unlock(l.ctx), redlatch.ErrLost)
		}
	}},
	{"the lock does not stay for a longer lease that was given back", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx, redlatch.WithLease(10*time.Second))
		until := outer.Until()
		inner := l.take(lock, outer.Context(l.ctx), redlatch.WithLease(time.Minute))
		require.Equal(l, time.Minute, l.ttl())
		require.Equal(l, until, outer.Until())
		l.give(inner)
		require.Equal(l, until, outer.Until())
		require.True(l, outer.Valid())
		l.endsWithin(outer, 10*time.Second)
		time.Sleep(soon)
		l.isFree(l.stranger())
		require.ErrorIs(l, outer.Unlock(l.ctx), redlatch.ErrLost)
	}},
	{"Extend lengthens the hold it is called on", reentrant, func(l *lab) {
		lock := l.lock()
		for _, extendOuter := range []bool{true, false} {
			outer := l.take(lock, l.ctx, redlatch.WithLease(2*time.Second))
			inner := l.take(lock, outer.Context(l.ctx), redlatch.WithLease(2*time.Second))
			extended, other := inner, outer
			if extendOuter {
				extended, other = outer, inner
			}
			until := other.Until()
			time.Sleep(time.Second)
			require.NoError(l, extended.Extend(l.ctx, 10*time.Second))
			require.Equal(l, 10*time.Second, l.ttl())
			require.Equal(l, until, other.Until())
			require.True(l, extended.Until().After(time.Now().Add(9*time.Second)))
			work := extended.Context(l.ctx)
			l.endsWithin(other, time.Second)
			time.Sleep(7 * time.Second)
			require.NoError(l, work.Err())
			l.give(extended)
			l.isFree(l.stranger())
			require.ErrorIs(l, other.Unlock(l.ctx), redlatch.ErrLost)
		}
	}},
	{"Extend of a re-entry does not reach past its WithMaxHold", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx, redlatch.WithLease(time.Minute))
		inner := l.take(lock, outer.Context(l.ctx), redlatch.WithLease(2*time.Second), redlatch.WithMaxHold(4*time.Second))
		require.NoError(l, inner.Extend(l.ctx, 30*time.Second))
		l.endsWithin(inner, 4*time.Second)
		require.True(l, outer.Valid())
		require.ErrorIs(l, inner.Unlock(l.ctx), redlatch.ErrLost)
		l.give(outer)
	}},
	{"a hold whose lease is over is not re-entered", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx, redlatch.WithLease(2*time.Second))
		carrying := context.WithoutCancel(outer.Context(l.ctx))
		inner := l.take(lock, carrying, redlatch.WithLease(time.Minute))
		l.endsWithin(outer, 2*time.Second)
		if l.has.Exclusive {
			l.refused(lock, carrying)
		} else {
			fresh := l.take(lock, carrying)
			require.NotEqual(l, inner.Owner(), fresh.Owner())
			l.give(fresh)
		}
		again := l.take(lock, inner.Context(carrying))
		l.give(again, inner)
		time.Sleep(soon) // what a composite keeps off its members' leases
		l.isFree(l.stranger())
		require.ErrorIs(l, outer.Unlock(l.ctx), redlatch.ErrLost)
	}},
	{"WithMaxHold of the first hold ends those within it", bothWatchedAndReentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx, redlatch.WithMaxHold(5*time.Second))
		inner := l.take(lock, outer.Context(l.ctx))
		leased := l.take(lock, outer.Context(l.ctx), redlatch.WithLease(time.Minute))
		l.endsWithin(outer, 5*time.Second)
		require.False(l, inner.Valid())
		require.False(l, leased.Valid())
		time.Sleep(soon)
		l.isFree(l.stranger())
	}},
}

// endsWithin waits for the end of a hold by its own lease, which is d from now.
func (l *lab) endsWithin(hold *redlatch.Hold, d time.Duration) {
	l.Helper()
	start, work := time.Now(), hold.Context(l.ctx)
	require.False(l, hold.Until().After(start.Add(d)))
	require.True(l, hold.Valid())
	<-work.Done()
	require.LessOrEqual(l, time.Since(start), d)
	require.Greater(l, time.Since(start), d-d/5-100*time.Millisecond)
	require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
	var loss *redlatch.LossError
	require.True(l, errors.As(context.Cause(work), &loss))
	require.False(l, hold.Valid())
	require.False(l, hold.Until().After(time.Now()))
}

func bothWatchedAndReentrant(f Features) bool { return f.Watchdog && f.Reentrant }
