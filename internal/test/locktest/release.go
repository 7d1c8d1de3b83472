package locktest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

var releaseCases = []trial{
	{"the second Unlock says so", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		l.give(hold)
		next := l.take(l.stranger(), l.ctx)
		require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrReleased)
		l.refused(l.lock(), l.ctx) // the next holder's is untouched
		l.give(next)
	}},
	{"of many Unlocks one gives back", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		var (
			gave atomic.Int64
			all  sync.WaitGroup
		)
		for range 8 {
			all.Go(func() {
				switch err := hold.Unlock(l.ctx); {
				case err == nil:
					gave.Add(1)
				case !errors.Is(err, redlatch.ErrReleased):
					l.Errorf("unlock: %v", err)
				}
			})
		}
		all.Wait()
		require.EqualValues(l, 1, gave.Load())
	}},
	{"Unlock works on a context that is over", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		ctx, cancel := context.WithCancel(l.ctx)
		cancel()
		require.NoError(l, hold.Unlock(ctx))
		l.isFree(l.stranger())
	}},
	{"Unlock works with the hold's own context", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		require.NoError(l, hold.Unlock(hold.Context(l.ctx)))
		l.isFree(l.stranger())
	}},
	{"a hold may be given back by another goroutine", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		require.NoError(l, await(l, "unlock", background(func() error { return hold.Unlock(context.Background()) })))
		l.isFree(l.stranger())
	}},
	{"a lost hold cannot free its successor's", nil, func(l *lab) {
		lock, stranger := l.lock(), l.stranger()
		old := l.take(lock, l.ctx)
		work := old.Context(l.ctx)
		l.lose()
		successor := l.take(stranger, l.ctx)
		require.ErrorIs(l, old.Unlock(l.ctx), redlatch.ErrLost)
		l.refused(lock, l.ctx)
		require.Error(l, work.Err())
		l.give(successor)
		l.isFree(lock)
		require.ErrorIs(l, old.Unlock(l.ctx), redlatch.ErrReleased)
	}},
	{"a lost hold says when and why", owned, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		l.lose()
		err := hold.Unlock(l.ctx)
		var loss *redlatch.LossError
		require.ErrorAs(l, err, &loss)
		require.Equal(l, l.name, loss.Name)
		require.Equal(l, hold.Owner(), loss.Owner)
		require.NotEmpty(l, loss.Reason)
		require.False(l, loss.At.IsZero())
	}},
}

var doCases = []trial{
	{"Do holds while fn runs and gives back", nil, func(l *lab) {
		lock, stranger := l.lock(), l.stranger()
		var inside context.Context
		require.NoError(l, redlatch.Do(l.ctx, lock, func(ctx context.Context) error {
			inside = ctx
			l.refused(stranger, l.ctx)
			return ctx.Err()
		}))
		require.ErrorIs(l, context.Cause(inside), redlatch.ErrReleased)
		l.isFree(stranger)
	}},
	{"Do returns fn's error and gives back", nil, func(l *lab) {
		failure := errors.New("card refused")
		err := redlatch.Do(l.ctx, l.lock(), func(context.Context) error { return failure })
		require.ErrorIs(l, err, failure)
		require.NotErrorIs(l, err, redlatch.ErrLost)
		l.isFree(l.stranger())
	}},
	{"Do gives back on panic", nil, func(l *lab) {
		require.PanicsWithValue(l, "oops", func() {
			_ = redlatch.Do(l.ctx, l.lock(), func(context.Context) error { panic("oops") })
		})
		l.isFree(l.stranger())
	}},
	{"Do gives back when fn ends its goroutine", nil, func(l *lab) {
		lock, ended := l.lock(), make(chan struct{})
		go func() {
			defer close(ended)
			_ = redlatch.Do(l.ctx, lock, func(context.Context) error { runtime.Goexit(); return nil })
		}()
		await(l, "the end of the goroutine", ended)
		l.isFree(l.stranger())
	}},
	{"Do joins fn's error with the loss", nil, func(l *lab) {
		failure := errors.New("card refused")
		err := redlatch.Do(l.ctx, l.lock(), func(context.Context) error {
			l.lose()
			return failure
		})
		require.ErrorIs(l, err, failure)
		require.ErrorIs(l, err, redlatch.ErrLost)
	}},
	{"Do reports the loss of a lock whose work succeeded", nil, func(l *lab) {
		err := redlatch.Do(l.ctx, l.lock(), func(context.Context) error { l.lose(); return nil })
		require.ErrorIs(l, err, redlatch.ErrLost)
	}},
	{"Do does not run fn without the lock", nil, func(l *lab) {
		holder := l.take(l.stranger(), l.ctx)
		ctx, cancel := context.WithCancel(l.ctx)
		cancel()
		err := redlatch.Do(ctx, l.lock(), func(context.Context) error { l.Error("fn ran"); return nil })
		require.ErrorIs(l, err, context.Canceled)
		l.give(holder)
	}},
}
