package locktest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// What is promised about the time for which a lock is held. The exact time of trust is the base lock's; here counts that
// it ends before the server's.
var leaseCases = []trial{
	{"a fixed lease is the server's, is not renewed, and ends the context first", nil, func(l *lab) {
		for _, lease := range []time.Duration{50 * time.Millisecond, 2 * time.Second, 45 * time.Second} {
			start := time.Now()
			hold := l.take(l.lock(), l.ctx, redlatch.WithLease(lease))
			require.Equal(l, lease, l.ttl())
			until, work := hold.Until(), hold.Context(l.ctx)
			require.True(l, until.Before(start.Add(lease)))
			require.True(l, until.After(start.Add(lease-lease/5-time.Millisecond)))
			require.True(l, hold.Valid())
			<-work.Done()
			require.Zero(l, time.Since(until))
			require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
			require.False(l, hold.Valid())
			require.Positive(l, l.ttl(), "the server still keeps it")
			time.Sleep(time.Until(start.Add(lease)))
			l.isFree(l.stranger())
			require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrLost)
		}
	}},
	{"a lease is whole milliseconds, rounded up", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(1500*time.Microsecond+time.Second))
		require.Equal(l, 1002*time.Millisecond, l.ttl())
		l.give(hold)
	}},
	{"WithMaxHold ends a hold that is renewed", watched, func(l *lab) {
		start := time.Now()
		hold := l.take(l.lock(), l.ctx, redlatch.WithMaxHold(45*time.Second))
		work := hold.Context(l.ctx)
		for time.Since(start) < 40*time.Second {
			time.Sleep(time.Second)
			require.True(l, hold.Valid())
			require.Positive(l, l.ttl())
			// But for the fraction of a millisecond by which a lease is rounded up.
			require.Less(l, l.ttl(), 45*time.Second-time.Since(start)+time.Millisecond, "no lease reaches past the end")
		}
		<-work.Done()
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
		require.LessOrEqual(l, time.Since(start), 45*time.Second)
		require.Greater(l, time.Since(start), 44*time.Second)
		time.Sleep(time.Until(start.Add(45*time.Second + time.Millisecond)))
		l.isFree(l.stranger())
	}},
	{"WithMaxHold cuts a longer lease", nil, func(l *lab) {
		start := time.Now()
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(time.Minute), redlatch.WithMaxHold(5*time.Second))
		require.Equal(l, 5*time.Second, l.ttl())
		<-hold.Context(l.ctx).Done()
		require.LessOrEqual(l, time.Since(start), 5*time.Second)
	}},
	{"Extend lengthens a lease", nil, func(l *lab) {
		start := time.Now()
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(2*time.Second))
		work := hold.Context(l.ctx)
		time.Sleep(time.Second)
		require.NoError(l, hold.Extend(l.ctx, 10*time.Second))
		require.Equal(l, 10*time.Second, l.ttl())
		require.True(l, hold.Until().After(start.Add(10*time.Second)))
		time.Sleep(9 * time.Second)
		require.True(l, hold.Valid())
		require.NoError(l, work.Err())
		<-work.Done()
		require.Less(l, time.Since(start), 11*time.Second)
	}},
	{"Extend below what remains changes nothing", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(time.Minute))
		until := hold.Until()
		require.NoError(l, hold.Extend(l.ctx, 5*time.Second))
		require.Equal(l, time.Minute, l.ttl())
		require.Equal(l, until, hold.Until())
		l.give(hold)
	}},
	{"Extend does not reach past WithMaxHold", nil, func(l *lab) {
		start := time.Now()
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(5*time.Second), redlatch.WithMaxHold(8*time.Second))
		time.Sleep(time.Second)
		require.NoError(l, hold.Extend(l.ctx, time.Minute))
		require.Equal(l, 7*time.Second, l.ttl())
		require.False(l, hold.Until().After(start.Add(8*time.Second)))
		<-hold.Context(l.ctx).Done()
		require.LessOrEqual(l, time.Since(start), 8*time.Second)
	}},
	{"Extend after the end says so", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(time.Minute))
		l.give(hold)
		require.ErrorIs(l, hold.Extend(l.ctx, time.Minute), redlatch.ErrReleased)
		require.Empty(l, l.left(l.name))

		hold = l.take(l.lock(), l.ctx, redlatch.WithLease(time.Minute))
		work := hold.Context(l.ctx)
		l.lose()
		require.ErrorIs(l, hold.Extend(l.ctx, time.Minute), redlatch.ErrLost)
		require.ErrorIs(l, context.Cause(work), redlatch.ErrLost)
		require.Empty(l, l.left(l.name), "extending never creates")
	}},
	{"Extend with nonsense is refused", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(time.Minute))
		require.ErrorIs(l, hold.Extend(l.ctx, 0), redlatch.ErrInvalid)
		require.ErrorIs(l, hold.Extend(l.ctx, -time.Second), redlatch.ErrInvalid)
		require.Equal(l, time.Minute, l.ttl())
		l.give(hold)
	}},
	{"re-entry never shortens the lease", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx, redlatch.WithLease(time.Minute))
		until := outer.Until()
		inner := l.take(lock, outer.Context(l.ctx), redlatch.WithLease(time.Second))
		require.Equal(l, time.Minute, l.ttl())
		require.Equal(l, until, outer.Until())
		require.False(l, inner.Until().After(time.Now().Add(time.Second)), "its own lease is what it is trusted for")
		l.give(inner)
		require.Equal(l, time.Minute, l.ttl())
		require.Equal(l, until, outer.Until())
		l.give(outer)
	}},
	{"WithMaxHold on a re-entry ends that hold alone", reentrant, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx, redlatch.WithLease(time.Minute))
		work := outer.Context(l.ctx)
		inner := l.take(lock, work, redlatch.WithMaxHold(2*time.Second))
		innerWork := inner.Context(l.ctx)
		time.Sleep(2 * time.Second)
		<-innerWork.Done()
		require.ErrorIs(l, context.Cause(innerWork), redlatch.ErrLost)
		require.False(l, inner.Valid())
		require.NoError(l, work.Err())
		require.ErrorIs(l, inner.Unlock(l.ctx), redlatch.ErrLost)
		require.True(l, outer.Valid())
		l.refused(l.stranger(), l.ctx)
		l.give(outer)
	}},
	{"work of a re-entry that hangs past its WithMaxHold does not keep the lock after the other holds", func(f Features) bool {
		return f.Reentrant && f.Watchdog
	}, func(l *lab) {
		lock := l.lock()
		outer := l.take(lock, l.ctx)
		inner := l.take(lock, outer.Context(l.ctx), redlatch.WithMaxHold(15*time.Second))
		innerWork := inner.Context(l.ctx)
		l.give(outer)
		time.Sleep(14 * time.Second)
		require.True(l, inner.Valid(), "it is renewed until then")
		<-innerWork.Done()
		require.ErrorIs(l, context.Cause(innerWork), redlatch.ErrLost)
		time.Sleep(soon)
		l.isFree(l.stranger())
	}},
}

func watched(f Features) bool { return f.Watchdog }
