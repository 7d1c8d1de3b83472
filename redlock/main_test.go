package redlock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience bounds every wait on a real clock. Nothing is asserted about how much of it was used.
const patience = 30 * time.Second

// quiet keeps losses out of the output and goroutines from lingering.
var quiet = []redlatch.Option{redlatch.WithLinger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler))}

func with(opts ...redlatch.Option) []redlatch.Option {
	return append(quiet[:len(quiet):len(quiet)], opts...)
}

func cancellable(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return ctx
}

func take(t *testing.T, lock redlatch.Locker, ctx context.Context, opts ...redlatch.Option) *redlatch.Hold {
	t.Helper()
	hold, err := lock.Lock(ctx, opts...)
	require.NoError(t, err)
	return hold
}

func refused(t *testing.T, lock redlatch.Locker, ctx context.Context) {
	t.Helper()
	_, err := lock.TryLock(ctx)
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
}

func free(t *testing.T, locks ...redlatch.Locker) {
	t.Helper()
	for _, lock := range locks {
		hold, err := lock.TryLock(context.Background())
		require.NoError(t, err, lock.Name())
		require.NoError(t, hold.Unlock(context.Background()))
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}
