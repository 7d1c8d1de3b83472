package locktest

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// An ended wait says that it failed and why, at the moment when it ends.
var waitingCases = []trial{
	{"a wait ends with the cancellation of its context", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		ctx, cancel := context.WithCancel(l.ctx)
		asked := l.asks(l.lock(), ctx)
		time.Sleep(7 * time.Second)
		cancel()
		at := time.Now()
		got := <-asked
		require.ErrorIs(l, got.err, redlatch.ErrNotAcquired)
		require.ErrorIs(l, got.err, context.Canceled)
		require.Nil(l, got.hold)
		require.Zero(l, got.at.Sub(at))
		l.give(holder)
	}},
	{"a wait ends at the deadline of its context", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		at := time.Now().Add(7 * time.Second)
		ctx, cancel := context.WithDeadline(l.ctx, at)
		defer cancel()
		got := <-l.asks(l.lock(), ctx)
		require.ErrorIs(l, got.err, redlatch.ErrNotAcquired)
		require.ErrorIs(l, got.err, context.DeadlineExceeded)
		require.Zero(l, got.at.Sub(at))
		l.give(holder)
	}},
	{"an ended wait matches the cause of its context", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		ctx, cancel := context.WithCancelCause(l.ctx)
		asked := l.asks(l.lock(), ctx)
		time.Sleep(time.Second)
		shutdown := errors.New("shutting down")
		cancel(shutdown)
		err := (<-asked).err
		require.ErrorIs(l, err, redlatch.ErrNotAcquired)
		require.ErrorIs(l, err, context.Canceled)
		require.ErrorIs(l, err, shutdown)
		l.give(holder)
	}},
	{"WithWait bounds the wait", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		for _, ctx := range []context.Context{l.ctx, context.Background()} {
			at := time.Now().Add(1500 * time.Millisecond)
			got := <-l.asks(l.lock(), ctx, redlatch.WithWait(1500*time.Millisecond))
			require.ErrorIs(l, got.err, redlatch.ErrNotAcquired)
			require.ErrorIs(l, got.err, context.DeadlineExceeded)
			require.Zero(l, got.at.Sub(at))
		}
		l.give(holder)
	}},
	{"WithWait given to New is the default", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		lock := l.lock(redlatch.WithWait(time.Second))
		start := time.Now()
		require.ErrorIs(l, (<-l.asks(lock, l.ctx)).err, context.DeadlineExceeded)
		require.Equal(l, time.Second, time.Since(start))
		l.refused(lock, l.ctx) // and means nothing to a try
		synctest.Wait()        // it has left the row, or it might be passed the lock and have to decline
		l.give(holder)
		l.isFree(lock)
	}},
	{"what bounds the wait does not bound the hold", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		ctx, cancel := context.WithTimeout(l.ctx, 5*time.Second)
		defer cancel()
		asked := l.asks(l.lock(), ctx, redlatch.WithWait(4*time.Second), redlatch.WithLease(20*time.Second))
		time.Sleep(time.Second)
		l.give(holder)
		got := <-asked
		require.NoError(l, got.err)
		work := got.hold.Context(l.ctx)
		time.Sleep(15 * time.Second)
		require.True(l, got.hold.Valid())
		require.NoError(l, work.Err())
		l.give(got.hold)
	}},
	{"a waiter who leaves does not hold up the others", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		lock := l.lock()
		ctx, cancel := context.WithCancel(l.ctx)
		first := l.asks(lock, ctx)
		synctest.Wait()
		second := l.asks(lock, l.ctx)
		synctest.Wait()
		third := l.asks(lock, ctx)
		synctest.Wait()
		cancel()
		require.ErrorIs(l, (<-first).err, context.Canceled)
		require.ErrorIs(l, (<-third).err, context.Canceled)
		l.give(holder)
		got := <-second
		require.NoError(l, got.err)
		l.give(got.hold)
	}},
	{"a context that is over does not take a free lock", nil, func(l *lab) {
		ctx, cancel := context.WithCancelCause(l.ctx)
		reason := errors.New("too late")
		cancel(reason)
		for _, ask := range []func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){l.lock().Lock, l.lock().TryLock} {
			hold, err := ask(ctx)
			require.Nil(l, hold)
			require.NotErrorIs(l, err, redlatch.ErrNotAcquired, "nothing is known")
			require.ErrorIs(l, err, context.Canceled)
			require.ErrorIs(l, err, reason)
		}
		require.Empty(l, l.left(l.name))
	}},
}

// The order among the waiters of one process.
var orderCases = []trial{
	{"waiters of one process are served in the order of arrival", ordered, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		lock, again := l.lock(), l.lock() // two values of one process share the order
		var (
			served  []int
			waiters []<-chan error
		)
		for i := range 8 {
			waiters = append(waiters, background(func() error {
				which := lock
				if i%2 == 1 {
					which = again
				}
				hold, err := which.Lock(l.ctx)
				if err != nil {
					return err
				}
				served = append(served, i) // the lock guards it
				return hold.Unlock(l.ctx)
			}))
			synctest.Wait()
		}
		l.give(holder)
		for _, w := range waiters {
			require.NoError(l, <-w)
		}
		require.Equal(l, []int{0, 1, 2, 3, 4, 5, 6, 7}, served)
	}},
	{"a try does not overtake the waiters of its process", ordered, func(l *lab) {
		l.take(l.stranger(), l.ctx)
		lock := l.lock()
		asked := l.asks(lock, l.ctx)
		time.Sleep(time.Second) // it has asked and sleeps
		l.lose()
		l.refused(lock, l.ctx) // although the lock is free
		got := <-asked
		require.NoError(l, got.err)
		l.give(got.hold)
		l.isFree(lock)
	}},
}

func ordered(f Features) bool { return f.Ordered }
