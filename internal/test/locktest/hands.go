package locktest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
)

// What follows is for tests of a lock beside the suite.

// Quiet keeps losses out of the output and goroutines from lingering.
var Quiet = []redlatch.Option{briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler))}

// With is Quiet with more options.
func With(opts ...redlatch.Option) []redlatch.Option {
	return append(Quiet[:len(Quiet):len(Quiet)], opts...)
}

// Cancellable is a context that can end, and does with the test.
func Cancellable(tb testing.TB) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	return ctx
}

// Take acquires a lock that can be had.
func Take(tb testing.TB, lock redlatch.Locker, ctx context.Context, opts ...redlatch.Option) *redlatch.Hold {
	tb.Helper()
	hold, err := lock.Lock(ctx, opts...)
	require.NoError(tb, err)
	return hold
}

// Refused requires that a lock cannot be had now.
func Refused(tb testing.TB, lock redlatch.Locker, ctx context.Context) {
	tb.Helper()
	hold, err := lock.TryLock(ctx)
	require.ErrorIs(tb, err, redlatch.ErrNotAcquired)
	require.Nil(tb, hold)
}

// Free requires that locks can be had now.
func Free(tb testing.TB, locks ...redlatch.Locker) {
	tb.Helper()
	for _, lock := range locks {
		hold, err := lock.TryLock(context.Background())
		require.NoError(tb, err, lock.Name())
		require.NoError(tb, hold.Unlock(context.Background()))
	}
}
