package semaphore_test

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

func TestReleaseWorksOnACancelledContext(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		client, key := srv.Client(t), srv.Key(t, "s")
		set(t, client, key, 1)
		s := semaphore.New(client, key, briefly.Linger(0))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, s.Release(ctx, 2))
		require.Equal(t, "3", value(t, client, key))
		done, err := s.ReleaseIfExists(ctx, 2)
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, "5", value(t, client, key))
	})
}

// With the default read timeout, longer than the release timeout, the first send is still under way when Release
// returns.
func TestReleaseReturnsWithinItsTimeoutHoweverPatientTheClient(t *testing.T) {
	srv := redistest.Process(t)
	r := newRig(t, srv, long)
	key := srv.Key(t, "s")
	set(t, r.direct, key, 1)
	s := semaphore.New(r.faulty, key, briefly.Linger(0), redlatch.WithReleaseTimeout(time.Second))
	srv.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Release(ctx, 2), redlatch.ErrUncertain)
	srv.Continue()
	eventually(t, "the permits are back", func() bool { return value(t, r.direct, key) == "3" })
}

// On fake time: a real connection that is refused a moment too late is in flight when the release timeout ends, and that
// is not certain.
func TestErrorsOfCommandsThatWereNeverExecutedAreCertain(t *testing.T) {
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			redistest.Bubble(t, func(t *testing.T) {
				server, direct := redistest.InMemory(t)
				if o.before != "" {
					require.NoError(t, direct.Set(t.Context(), "s", o.before, 0).Err())
				}
				options := redistest.InMemoryOptions(server)
				options.DialerRetries, options.DialerRetryTimeout = 1, time.Millisecond
				var refusals atomic.Int64
				options.Dialer = func(_ context.Context, network, _ string) (net.Conn, error) {
					refusals.Add(1)
					return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
				}
				client := redis.NewClient(options)
				t.Cleanup(func() { _ = client.Close() })
				var done settled
				s := semaphore.New(client, "s", briefly.Linger(0), redlatch.WithOutage(time.Second),
					redlatch.WithReleaseTimeout(time.Second), done.option())
				_, err := o.do(t.Context(), s)
				require.ErrorIs(t, err, syscall.ECONNREFUSED)
				require.NotErrorIs(t, err, redlatch.ErrUncertain)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
				require.Greater(t, refusals.Load(), int64(1), "it was tried again")
				time.Sleep(time.Minute)
				require.Zero(t, done.count(), "nothing is left to be done")
				require.Equal(t, o.before, value(t, direct, "s"))
			})
		})
	}
}

// gate is a dialer that can be kept waiting and then fail, as towards a host that is down. All dials that wait fail at once: on a
// busy machine there is more than one.
type gate struct {
	closed atomic.Bool
	failed chan struct{} // is closed when they fail
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if g.closed.Load() {
		<-g.failed
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("no route to host")}
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// Release gives up while its connection is still being dialled, and the dial fails later. The release was certainly
// not executed then, and is owed all the same, for ErrUncertain forbids the caller to repeat it.
func TestAReleaseIsCarriedThroughAlsoWhenItsFirstSendNeverLeft(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		gate := &gate{failed: make(chan struct{})}
		client, key := srv.Client(t, func(o *redis.Options) {
			o.Dialer, o.DialerRetries, o.DialerRetryTimeout = gate.dial, 1, time.Millisecond
		}), srv.Key(t, "s")
		direct := srv.Client(t)
		set(t, direct, key, 1)
		var done settled
		s := semaphore.New(client, key, briefly.Linger(0), redlatch.WithReleaseTimeout(time.Second), done.option())
		gate.closed.Store(true)
		err := s.Release(t.Context(), 2)
		require.ErrorIs(t, err, redlatch.ErrUncertain)
		gate.closed.Store(false)
		close(gate.failed)
		eventually(t, "the permits are back", func() bool { return value(t, direct, key) == "3" })
		done.await(t, 1)
	})
}

// A dial that times out is an error of the network that calls itself a deadline. Nobody's patience has ended.
func TestATimeoutOfTheNetworkIsNotTheEndOfAWait(t *testing.T) {
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", DialerRetries: 1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return (&net.Dialer{Timeout: time.Nanosecond}).DialContext(ctx, network, addr)
		},
	})
	defer client.Close()
	s := semaphore.New(client, "s", briefly.Linger(0), redlatch.WithOutage(time.Millisecond))
	err := s.Acquire(t.Context(), 1)
	require.ErrorContains(t, err, "timeout")
	require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
}

func TestTheEndOfAWaitDuringAnOutageTellsBoth(t *testing.T) {
	srv := redistest.Mini(t)
	r := newRig(t, srv, patience)
	r.proxy.Refuse(true)
	s := semaphore.New(srv.Client(t, func(o *redis.Options) { o.Addr = r.proxy.Addr(); o.DialerRetries = 1 }), "s", briefly.Linger(0))
	err := s.Acquire(t.Context(), 1, redlatch.WithWait(2*time.Second))
	require.ErrorIs(t, err, redlatch.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	r.proxy.Refuse(false)
}
