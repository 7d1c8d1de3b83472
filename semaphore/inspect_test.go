package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

func TestInspectTellsWhatThereIs(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, key := t.Context(), srv.Key(t, "s")
		s := semaphore.New(srv.Client(t), key, briefly.Linger(0))
		look := func() redlatch.Info {
			t.Helper()
			info, err := s.Inspect(ctx)
			require.NoError(t, err)
			return info
		}
		want := redlatch.Info{Name: key, Key: key, Kind: "semaphore"}
		require.Equal(t, want, look())
		_, err := s.TrySetPermits(ctx, 2, redlatch.WithTTL(time.Hour))
		require.NoError(t, err)
		info := look()
		require.Greater(t, info.TTL, time.Hour-time.Minute)
		want.Exists, want.Value, want.TTL = true, 2, info.TTL
		require.Equal(t, want, info)
		done := make(chan error, 1)
		go func() { done <- s.Acquire(ctx, 3) }()
		eventually(t, "it waits", func() bool { return look().Waiters == 1 })
		require.NoError(t, s.Release(ctx, 1))
		require.NoError(t, <-done)
		require.Zero(t, look().Value)
	})
}

// What a refusal says of the number of permits.
func TestAnErrorTellsOfPermitsThatAreNotThere(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx := t.Context()
		s := semaphore.New(srv.Client(t), srv.Key(t, "s"), briefly.Linger(0))
		said := func(n int64, text string) {
			t.Helper()
			wait := redlatch.WithWait(time.Second)
			results := make(chan error, 2)
			for range cap(results) { // the second stands behind the first
				go func() { results <- s.Acquire(ctx, n, wait) }()
			}
			for range cap(results) {
				err := <-results
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
				require.ErrorContains(t, err, text)
			}
			err := s.TryAcquire(ctx, n)
			require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			require.ErrorContains(t, err, text)
		}
		said(1, "never set up, has expired or was deleted; give New WithPermits, or call TrySetPermits")
		_, err := s.TrySetPermits(ctx, 3)
		require.NoError(t, err)
		require.ErrorContains(t, s.TryAcquire(ctx, 5), "has 3 permits left, and 5 are wanted")
		require.ErrorContains(t, s.Acquire(ctx, 5, redlatch.WithWait(time.Second)), "has 3 permits left, and 5 are wanted")
	})
}

// Nobody could tell later whose they are.
func TestPermitsComeBackWhenTheObserverThatIsToldOfThemPanics(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		set(t, client, key, 3)
		s := semaphore.New(client, key, briefly.Linger(0), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventAcquired {
				panic("observer")
			}
		})))
		for _, acquire := range []func(){
			func() { _ = s.Acquire(ctx, 2) },
			func() { _ = s.TryAcquire(ctx, 2) },
			func() { _ = s.Do(ctx, 2, nil) },
		} {
			require.PanicsWithValue(t, "observer", acquire)
			eventually(t, "they are back", func() bool { return value(t, client, key) == "3" })
		}
	})
}
