package redlatchtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/rlock"
)

// each runs a test on a server of each kind, and in a bubble.
func each(t *testing.T, test func(t *testing.T, server *redlatchtest.Server)) {
	t.Run("in memory", func(t *testing.T) { t.Parallel(); test(t, redlatchtest.Run(t)) })
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		redistest.Process(t) // skips, or fails, where there is no program
		test(t, redlatchtest.Run(t, redlatchtest.Real()))
	})
	t.Run("on fake time", func(t *testing.T) { redlatchtest.Bubble(t, test) })
}

// lock makes a lock that notices quickly.
func lock(client redlatch.Client, opts ...redlatch.Option) *rlock.Lock {
	return rlock.New(client, "orders", append([]redlatch.Option{briefly.Linger(0)}, opts...)...)
}

func newClient(t *testing.T, options *redis.Options) *redis.Client {
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// brisk notices a loss within 2 s.
var brisk = redlatch.WithWatchdogTimeout(3 * time.Second)

// take takes a lock that is free, or will be within a minute. A lock that is not would otherwise hang a bubble for ever.
func take(t *testing.T, lock redlatch.Locker, opts ...redlatch.Option) *redlatch.Hold {
	t.Helper()
	hold, err := lock.Lock(t.Context(), append([]redlatch.Option{redlatch.WithWait(time.Minute)}, opts...)...)
	require.NoError(t, err)
	return hold
}

func refused(t *testing.T, lock redlatch.Locker) {
	t.Helper()
	_, err := lock.TryLock(t.Context())
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
}

func lostSoon(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
		require.ErrorIs(t, context.Cause(ctx), redlatch.ErrLost)
	case <-time.After(time.Minute):
		t.Fatal("the loss was not noticed")
	}
}

func TestEachClientIsAProcess(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		hold := take(t, lock(server.Client()))
		refused(t, lock(server.Client()))
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, take(t, lock(server.Client())).Unlock(t.Context()))
	})
}

func TestAWaiterIsServedWhenTheLockIsReleased(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		hold := take(t, lock(server.Client()))
		got := make(chan error)
		go func() {
			next, err := lock(server.Client(), redlatch.WithPoll(time.Hour)).Lock(t.Context())
			got <- errors.Join(err, next.Unlock(t.Context()))
		}()
		time.Sleep(10 * time.Millisecond)
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, <-got)
	})
}

func TestServersHaveNothingInCommon(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		take(t, lock(server.Client()))
		require.NoError(t, take(t, lock(redlatchtest.Run(t).Client())).Unlock(t.Context()))
	})
}

func TestAProgramCanDialTheServer(t *testing.T) {
	server := redlatchtest.Run(t)
	program := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer program.Close()
	hold := take(t, lock(program))
	refused(t, lock(server.Client()))
	require.Equal(t, server.Addr(), server.Addr())
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestOptionsMakeAClient(t *testing.T) {
	each(t, func(t *testing.T, server *redlatchtest.Server) {
		options := server.Options()
		options.Protocol, options.DB = 2, 3
		client := newClient(t, options)
		take(t, lock(client))
		require.EqualValues(t, 1, client.Exists(t.Context(), "orders").Val())
		require.Zero(t, server.Client().Exists(t.Context(), "orders").Val())
	})
}

func TestKeysExpireWithTheClock(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		start := time.Now()
		take(t, lock(server.Client()), redlatch.WithLease(time.Minute))
		take(t, lock(server.Client()), redlatch.WithWait(time.Hour))
		require.InDelta(t, time.Minute, time.Since(start), float64(time.Second))
	})
}

func TestRealSaysWhatIsMissing(t *testing.T) {
	t.Setenv(servers.Variable, "/no/such/server")
	text := failure(t, func(tb testing.TB) { redlatchtest.Run(tb, redlatchtest.Real()) })
	require.Contains(t, text, "install redis-server 6.2 or newer, or name one in the environment variable REDLATCH_SERVER")
}

func TestABubbleHasNoRealServerAndNoAddress(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		require.Contains(t, failure(t, func(tb testing.TB) { redlatchtest.Run(tb, redlatchtest.Real()) }), "cannot be used in a bubble")
	})
	redlatchtest.Bubble(t, func(t *testing.T, _ *redlatchtest.Server) {
		require.Contains(t, failure(t, func(tb testing.TB) { redlatchtest.Run(tb).Addr() }), "a bubble has no sockets")
	})
}

func TestABubbleEndsWhateverItsTestHasLeft(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		take(t, lock(server.Client()))
		take(t, rlock.New(server.Client(), "bills"))
		waits := rlock.New(server.Client(), "bills") // lingers
		_, err := waits.Lock(t.Context(), redlatch.WithWait(time.Second))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		server.Hang()
		_, err = waits.Lock(t.Context(), redlatch.WithWait(time.Minute)) // in doubt
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		server.DropMessages()
		server.Fail(errors.New("LOADING"))
		server.Down()
	})
}
