package rlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

// A sleeper is a process whose system can be suspended: its clocks stand still, and the server's goes on.
type sleeper struct {
	mini   *miniredis.Miniredis
	client *redis.Client
	total  atomic.Int64
}

func (s *sleeper) suspend(d time.Duration) {
	s.mini.FastForward(d)
	s.total.Add(int64(d))
}

func sleeping(t *testing.T, test func(t *testing.T, s *sleeper)) {
	redistest.Bubble(t, func(t *testing.T) {
		s := &sleeper{}
		s.mini, s.client = redistest.InMemory(t)
		defer clock.Fake(func() time.Duration { return time.Duration(s.total.Load()) })()
		test(t, s)
		time.Sleep(time.Minute)
	})
}

// What is held, however it is held.
type held interface {
	Valid() bool
	Until() time.Time
	Context(context.Context) context.Context
}

func TestASuspensionEndsWhatItOutlasts(t *testing.T) {
	for name, take := range map[string]func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error){
		"lock": func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error) {
			h, err := rlock.New(client, "a").Lock(ctx)
			return h, h.Unlock, err
		},
		"lease": func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error) {
			h, err := rlock.New(client, "a").Lock(ctx, redlatch.WithLease(30*time.Second))
			return h, h.Unlock, err
		},
		"max hold": func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error) {
			h, err := rlock.New(client, "a").Lock(ctx, redlatch.WithMaxHold(30*time.Second))
			return h, h.Unlock, err
		},
		"lease of a re-entry": func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error) {
			outer, err := rlock.New(client, "a").Lock(ctx, redlatch.WithLease(time.Hour))
			if err != nil {
				return nil, nil, err
			}
			h, err := rlock.New(client, "a").Lock(outer.Context(ctx), redlatch.WithLease(30*time.Second))
			return h, func(ctx context.Context) error { _ = outer.Unlock(ctx); return h.Unlock(ctx) }, err
		},
		"multi_lock": func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error) {
			h, err := multilock.New([]redlatch.Locker{rlock.New(client, "a"), rlock.New(client, "b")}).Lock(ctx)
			return h, h.Unlock, err
		},
		"redlock": func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error) {
			h, err := redlock.New([]redlatch.Client{client}, "a").Lock(ctx)
			return h, h.Unlock, err
		},
		"permit": func(ctx context.Context, client *redis.Client) (held, func(context.Context) error, error) {
			s := permitsemaphore.New(client, "p")
			if _, err := s.TrySetPermits(ctx, 1); err != nil {
				return nil, nil, err
			}
			p, err := s.Acquire(ctx, 1)
			return p, p.Release, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			sleeping(t, func(t *testing.T, s *sleeper) {
				h, give, err := take(t.Context(), s.client)
				require.NoError(t, err)
				work := h.Context(context.Background())
				time.Sleep(500 * time.Millisecond)
				s.suspend(20 * time.Second)
				require.True(t, h.Valid())
				require.LessOrEqual(t, time.Until(h.Until()), 10*time.Second)
				time.Sleep(time.Second) // what is renewed is renewed now
				require.NoError(t, work.Err())
				s.suspend(40 * time.Second)
				require.False(t, h.Valid(), "at once, by the clock alone")
				require.True(t, h.Until().Before(time.Now()))
				resumed := time.Now()
				<-work.Done()
				require.LessOrEqual(t, time.Since(resumed), time.Second)
				require.ErrorIs(t, context.Cause(work), redlatch.ErrLost)
				require.ErrorIs(t, give(t.Context()), redlatch.ErrLost)
			})
		})
	}
}

func TestAfterASuspensionARenewedHoldGoesOn(t *testing.T) {
	sleeping(t, func(t *testing.T, s *sleeper) {
		h, err := rlock.New(s.client, "a").Lock(t.Context())
		require.NoError(t, err)
		for range 20 {
			s.suspend(25 * time.Second)
			require.True(t, h.Valid())
			time.Sleep(1100 * time.Millisecond)
			require.Greater(t, time.Until(h.Until()), 20*time.Second, "renewed within a second of the resume")
		}
		require.NoError(t, h.Unlock(t.Context()))
	})
}

func TestWhatIsAcquiredAfterASuspensionIsTrusted(t *testing.T) {
	sleeping(t, func(t *testing.T, s *sleeper) {
		lock := rlock.New(s.client, "a")
		for range 3 {
			s.suspend(time.Hour)
			h, err := lock.Lock(t.Context(), redlatch.WithLease(10*time.Second))
			require.NoError(t, err)
			require.True(t, h.Valid())
			require.Greater(t, time.Until(h.Until()), 9*time.Second)
			s.suspend(5 * time.Second)
			require.True(t, h.Valid())
			require.NoError(t, h.Extend(t.Context(), 10*time.Second))
			require.Greater(t, time.Until(h.Until()), 9*time.Second)
			require.NoError(t, h.Unlock(t.Context()))
		}
	})
}
