package locktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

var keepCases = []trial{
	{"the watchdog keeps a lock for as long as it is held", watched, func(l *lab) {
		for _, timeout := range []time.Duration{30 * time.Second, 3 * time.Second, 30 * time.Millisecond} {
			start := time.Now()
			hold := l.take(l.lock(), l.ctx, redlatch.WithWatchdogTimeout(timeout))
			require.Equal(l, timeout, l.ttl())
			work := hold.Context(l.ctx)
			for time.Since(start) < 20*timeout {
				time.Sleep(timeout / 30)
				require.True(l, hold.Valid())
				// A third of the timeout has passed at most, and a millisecond of rounding.
				require.GreaterOrEqual(l, l.ttl(), timeout*2/3-time.Millisecond)
				require.True(l, hold.Until().Before(time.Now().Add(l.ttl())), "the server keeps it longer than it is trusted")
			}
			require.NoError(l, work.Err())
			l.give(hold)
			l.isFree(l.stranger())
		}
	}},
	{"the watchdog timeout is 30 seconds by default", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		require.Equal(l, 30*time.Second, l.ttl())
		l.give(hold)
	}},
	{"a hold is not renewed after Unlock", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithWatchdogTimeout(3*time.Second))
		time.Sleep(10 * time.Second)
		l.give(hold)
		successor := l.take(l.stranger(), l.ctx, redlatch.WithLease(10*time.Second))
		time.Sleep(4 * time.Second)
		require.Equal(l, 6*time.Second, l.ttl())
		l.give(successor)
	}},
	{"renewal lengthens only", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		require.NoError(l, hold.Extend(l.ctx, 2*time.Minute))
		time.Sleep(time.Minute)
		require.Equal(l, time.Minute, l.ttl())
		require.True(l, hold.Valid())
		time.Sleep(10 * time.Minute)
		require.True(l, hold.Valid())
		l.give(hold)
	}},
}

// How soon a hold that was taken away is noticed.
var lossCases = []trial{
	{"a lock taken away is noticed within a renewal period", watched, func(l *lab) {
		for _, timeout := range []time.Duration{30 * time.Second, 3 * time.Second} {
			hold := l.take(l.lock(), l.ctx, redlatch.WithWatchdogTimeout(timeout))
			work := hold.Context(l.ctx)
			time.Sleep(7*timeout + timeout/10)
			l.lose()
			at := time.Now()
			<-work.Done()
			require.LessOrEqual(l, time.Since(at), timeout/3)
			require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
			require.False(l, hold.Valid())
			require.False(l, hold.Until().After(time.Now()))
			time.Sleep(2 * timeout)
			require.Empty(l, l.left(l.name), "nothing is created again")
			require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrLost)
		}
	}},
	{"a long fixed lease taken away is noticed within a renewal period", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(time.Hour))
		work := hold.Context(l.ctx)
		time.Sleep(10 * time.Minute)
		require.Equal(l, 50*time.Minute, l.ttl(), "looked at, not extended")
		l.lose()
		at := time.Now()
		<-work.Done()
		require.LessOrEqual(l, time.Since(at), 10*time.Second)
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
	}},
	{"the successor of a lost holder is not renewed by it", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		l.lose()
		successor := l.take(l.stranger(), l.ctx, redlatch.WithLease(time.Minute))
		time.Sleep(40 * time.Second)
		require.Equal(l, 20*time.Second, l.ttl())
		require.False(l, hold.Valid())
		require.True(l, successor.Valid())
		l.give(successor)
	}},
	{"the holder learns of a force-unlock", forceableAndWatched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		work := hold.Context(l.ctx)
		freed, err := l.forceUnlock(l.stranger())
		require.NoError(l, err)
		require.True(l, freed)
		at := time.Now()
		<-work.Done()
		require.LessOrEqual(l, time.Since(at), 11*time.Second)
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
	}},
	{"a process can lock again after a loss", watched, func(l *lab) {
		lock := l.lock()
		lost := l.take(lock, l.ctx)
		l.lose()
		<-lost.Context(l.ctx).Done()
		hold := l.take(lock, l.ctx)
		time.Sleep(5 * time.Minute)
		require.True(l, hold.Valid())
		require.ErrorIs(l, lost.Unlock(l.ctx), redlatch.ErrLost)
		require.True(l, hold.Valid())
		l.give(hold)
	}},
	{"waiters learn nothing from a loss but are served", watched, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		asked := l.asks(l.stranger(), l.ctx)
		time.Sleep(5 * time.Second)
		at := time.Now()
		l.lose()
		got := <-asked
		require.NoError(l, got.err)
		require.LessOrEqual(l, got.at.Sub(at), 3*time.Second)
		<-hold.Context(l.ctx).Done()
		l.give(got.hold)
	}},
}

func forceableAndWatched(f Features) bool { return f.Watchdog && f.ForceUnlock != nil }
