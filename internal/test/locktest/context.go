package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

type valueKey struct{}

// The context of a hold is a child of its parent that also ends with the hold.
var contextCases = []trial{
	{"the hold's context ends with Unlock", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		ctx, fromBackground := hold.Context(l.ctx), hold.Context(context.Background())
		child, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		require.NoError(l, child.Err())
		require.NoError(l, fromBackground.Err())
		l.give(hold)
		for _, ended := range []context.Context{ctx, fromBackground, child} {
			await(l, "the end of a context", ended.Done())
			require.Equal(l, context.Canceled, ended.Err())
			require.ErrorIs(l, context.Cause(ended), redlatch.ErrReleased)
		}
	}},
	{"a context made after the end of the hold is over", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		l.give(hold)
		ctx := hold.Context(l.ctx)
		require.Equal(l, context.Canceled, ctx.Err())
		require.ErrorIs(l, context.Cause(ctx), redlatch.ErrReleased)
	}},
	{"the hold's context ends with its parent, for the same cause", nil, func(l *lab) {
		parent, cancel := context.WithCancelCause(l.ctx)
		hold := l.take(l.lock(), l.ctx)
		ctx := hold.Context(parent)
		reason := errors.New("shutting down")
		cancel(reason)
		await(l, "the end of the context", ctx.Done())
		require.Equal(l, context.Canceled, ctx.Err())
		require.ErrorIs(l, context.Cause(ctx), reason)
		require.True(l, hold.Valid(), "the hold goes on")
		l.give(hold)
	}},
	{"a context made from a parent that is over is over", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		reason := errors.New("shutting down")
		parent, cancel := context.WithCancelCause(l.ctx)
		cancel(reason)
		ctx := hold.Context(parent)
		require.Equal(l, context.Canceled, ctx.Err())
		require.ErrorIs(l, context.Cause(ctx), reason)
		late, cancelLate := context.WithDeadline(l.ctx, time.Now().Add(-time.Second))
		defer cancelLate()
		require.Equal(l, context.DeadlineExceeded, hold.Context(late).Err())
		l.give(hold)
	}},
	{"the values of the parent are visible", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		ctx := hold.Context(context.WithValue(l.ctx, valueKey{}, "v"))
		require.Equal(l, "v", ctx.Value(valueKey{}))
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		require.Equal(l, "v", redlatch.Detach(child).Value(valueKey{}))
		l.give(hold)
	}},
	{"a detached context still ends with the hold", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx)
		ctx := redlatch.Detach(hold.Context(l.ctx))
		l.give(hold)
		await(l, "the end of the context", ctx.Done())
		require.ErrorIs(l, context.Cause(ctx), redlatch.ErrReleased)
	}},
}

// What of it is about time.
var clockContextCases = []trial{
	{"the hold's context has its parent's deadline", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(time.Minute))
		deadline := time.Now().Add(5 * time.Second)
		parent, cancel := context.WithDeadline(l.ctx, deadline)
		defer cancel()
		ctx := hold.Context(parent)
		got, ok := ctx.Deadline()
		require.True(l, ok)
		require.True(l, deadline.Equal(got))
		<-ctx.Done()
		require.True(l, deadline.Equal(time.Now()))
		require.Equal(l, context.DeadlineExceeded, ctx.Err())
		require.True(l, hold.Valid())
		l.give(hold)
	}},
	{"the loss of the hold comes before the deadline of the parent", nil, func(l *lab) {
		hold := l.take(l.lock(), l.ctx, redlatch.WithLease(2*time.Second))
		parent, cancel := context.WithTimeout(l.ctx, 5*time.Second)
		defer cancel()
		ctx := hold.Context(parent)
		<-ctx.Done()
		require.Equal(l, context.Canceled, ctx.Err())
		require.ErrorIs(l, context.Cause(ctx), redlatch.ErrLost)
	}},
}
