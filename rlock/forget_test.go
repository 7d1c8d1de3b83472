package rlock_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// The outer hold is dropped while the inner one still needs the renewal. When that is given back too, nobody does.
func TestAForgottenOuterHoldEndsWithTheReleaseOfTheInnerOne(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, name := cancellable(t), srv.Key(t, "lock")
		var forgotten atomic.Int64
		lock := rlock.New(srv.Client(t), name, with(redlatch.WithWatchdogTimeout(3*time.Second),
			redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
				if e.Kind == redlatch.EventForgotten {
					forgotten.Add(1)
				}
			})))...)
		inner := innerOnly(t, lock, ctx)
		eventually(t, "the outer hold is found forgotten", func() bool { runtime.GC(); return forgotten.Load() == 1 })
		first := inner.Until()
		eventually(t, "renewals go on for the inner one", func() bool { return inner.Until().After(first.Add(600 * time.Millisecond)) })
		require.NoError(t, inner.Unlock(ctx))
		client := srv.Client(t)
		eventually(t, "the lock ends with its lease", func() bool { return client.Exists(ctx, name).Val() == 0 })
	})
}

//go:noinline
func innerOnly(t *testing.T, lock redlatch.Locker, ctx context.Context) *redlatch.Hold {
	return take(t, lock, context.WithoutCancel(onlyContext(t, lock, ctx)))
}

//go:noinline
func onlyContext(t *testing.T, lock redlatch.Locker, ctx context.Context) context.Context {
	return take(t, lock, ctx).Context(ctx)
}
