package rlock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// patience bounds every wait on a real clock. Nothing is asserted about how much of it was used.
const patience = 30 * time.Second

// quiet keeps losses out of the output and goroutines from lingering.
var quiet = []redlatch.Option{redlatch.WithLinger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler))}

func with(opts ...redlatch.Option) []redlatch.Option {
	return append(quiet[:len(quiet):len(quiet)], opts...)
}

// cancellable is a context that can end, and does with the test.
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

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// count is the hold count that Redis has for an owner.
func count(t *testing.T, client *redis.Client, key, owner string) int {
	t.Helper()
	n, err := client.HGet(t.Context(), key, owner).Int()
	if err != redis.Nil {
		require.NoError(t, err)
	}
	return n
}

// direct is a client that is not the one under test.
func direct(t *testing.T, srv *redistest.Server) *redis.Client { return srv.Client(t) }
