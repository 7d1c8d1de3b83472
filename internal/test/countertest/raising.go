package countertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func cancelledRaise(l *lab) {
	l.shut(3)
	closed := l.value()
	ctx, cancel := context.WithCancel(l.Context())
	cancel()
	require.NoError(l, l.counter(l.client).Raise(ctx))
	require.Equal(l, l.Left(closed, 1), l.value())
}

// The server stands still when the raise is sent, and executes every copy of it later.
func carriedThrough(l *lab) {
	srv := redistest.Process(l)
	l.srv, l.direct, l.name = srv, srv.Client(l), srv.Key(l, "c")
	l.shut(4)
	require.NoError(l, l.counter(l.direct).Raise(l.Context())) // the server knows the script
	closed := l.value()
	proxy := faultproxy.New(l, srv.Addr)
	client := srv.Client(l, func(o *redis.Options) { o.Addr, o.ReadTimeout, o.PoolSize = proxy.Addr(), time.Second, 64 })
	var settled atomic.Int64
	c := l.counter(client, redlatch.WithReleaseTimeout(500*time.Millisecond), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventSettled {
			settled.Add(1)
		}
	})))
	_, err := c.Look(l.Context()) // a connection is there
	require.NoError(l, err)
	copies := proxy.On(faultproxy.OnKey(l.name), 0, faultproxy.Delay(0))
	srv.Stop()
	err = c.Raise(l.Context())
	require.ErrorIs(l, err, redlatch.ErrUncertain)
	require.NotErrorIs(l, err, redlatch.ErrNotAcquired)
	require.NotZero(l, copies.Hits())
	require.Zero(l, settled.Load())
	srv.Continue()
	redistest.Eventually(l, "it is settled", func() bool { return settled.Load() > 0 })
	redistest.Eventually(l, "every copy has been executed", func() bool { return copies.Executed() == copies.Hits() })
	require.Equal(l, l.Left(closed, 1), l.value())
}

func somethingElse(l *lab) {
	for name, put := range map[string]func(key string) error{
		"a lock": func(key string) error { return l.direct.HSet(l.Context(), key, "owner", 1).Err() },
		"text":   func(key string) error { return l.direct.Set(l.Context(), key, "many", 0).Err() },
		"a number that is too large": func(key string) error {
			return l.direct.Set(l.Context(), key, "99999999999999999999", 0).Err()
		},
	} {
		key := l.srv.Key(l, name)
		require.NoError(l, put(key))
		before := l.direct.Dump(l.Context(), key).Val()
		c := l.Make(l, l.client, key, briefly.Linger(0), redlatch.WithReleaseTimeout(time.Second))
		_, look := c.Look(l.Context())
		for _, err := range []error{look, c.Wait(l.Context(), redlatch.WithWait(0)), c.Raise(l.Context())} {
			require.ErrorIs(l, err, redlatch.ErrInvalid, name)
			require.ErrorContains(l, err, "use another name", name)
			require.NotErrorIs(l, err, redlatch.ErrNotAcquired, name)
		}
		require.Equal(l, before, l.direct.Dump(l.Context(), key).Val(), name)
	}
}
