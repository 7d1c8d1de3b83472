package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

func TestASemaphoreThatWasNeverSetUpHasNoPermits(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := semaphore.New(client, key, briefly.Linger(0))
		require.Equal(t, key, s.Name())
		for name, call := range map[string]func() (any, error){
			"available": func() (any, error) { n, err := s.AvailablePermits(ctx); return n == 0, err },
			"drain":     func() (any, error) { n, err := s.DrainPermits(ctx); return n == 0, err },
			"try":       func() (any, error) { return errors.Is(s.TryAcquire(ctx, 1), redlatch.ErrNotAcquired), nil },
			"release":   func() (any, error) { done, err := s.ReleaseIfExists(ctx, 1); return !done, err },
			"delete":    func() (any, error) { done, err := s.Delete(ctx); return !done, err },
			"expire":    func() (any, error) { done, err := s.Expire(ctx, time.Hour); return !done, err },
			"persist":   func() (any, error) { done, err := s.Persist(ctx); return !done, err },
		} {
			is, err := call()
			require.NoError(t, err, name)
			require.Equal(t, true, is, name)
			require.Equal(t, "", value(t, client, key), name)
		}
		require.Empty(t, srv.Keys(t), "what changes nothing leaves nothing")
	})
}

func TestOneLife(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := semaphore.New(client, key, briefly.Linger(0))
		is := func(want bool, got bool, err error) { t.Helper(); require.NoError(t, err); require.Equal(t, want, got) }
		has := func(want int64) {
			t.Helper()
			got, err := s.AvailablePermits(ctx)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		set := func(n int64) (bool, error) { return s.TrySetPermits(ctx, n) }
		try := func(n int64) (bool, error) {
			err := s.TryAcquire(ctx, n)
			if errors.Is(err, redlatch.ErrNotAcquired) {
				return false, nil
			}
			return err == nil, err
		}

		ok, err := set(5)
		is(true, ok, err)
		ok, err = set(7)
		is(false, ok, err)
		has(5)
		ok, err = try(6)
		is(false, ok, err)
		require.NoError(t, s.Acquire(ctx, 5))
		has(0)
		ok, err = set(7)
		is(false, ok, err) // no permits left is not absent
		ok, err = try(1)
		is(false, ok, err)
		ok, err = s.ReleaseIfExists(ctx, 2)
		is(true, ok, err)
		has(2)
		total, err := s.AddPermits(ctx, -5)
		require.NoError(t, err)
		require.Equal(t, int64(-3), total)
		has(-3)
		ok, err = try(1)
		is(false, ok, err)
		require.NoError(t, s.Release(ctx, 3))
		has(0)
		total, err = s.AddPermits(ctx, -2)
		require.NoError(t, err)
		require.Equal(t, int64(-2), total)
		drained, err := s.DrainPermits(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(-2), drained)
		has(0)
		total, err = s.AddPermits(ctx, math.MaxInt32)
		require.NoError(t, err)
		require.Equal(t, int64(math.MaxInt32), total)
		drained, err = s.DrainPermits(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(math.MaxInt32), drained)
		ok, err = s.Delete(ctx)
		is(true, ok, err)
		ok, err = s.Delete(ctx)
		is(false, ok, err)
		ok, err = set(3)
		is(true, ok, err)
		has(3)
		ok, err = s.Delete(ctx)
		is(true, ok, err)
		require.NoError(t, s.Release(ctx, 4)) // makes one
		has(4)
		ok, err = s.Delete(ctx)
		is(true, ok, err)
		ok, err = set(0)
		is(true, ok, err)
		ok, err = set(1)
		is(false, ok, err)
		require.Equal(t, "0", value(t, client, key))
	})
}

func TestNumbersThatMakeNoSenseAreRefusedBeforeAnythingIsSent(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, s := t.Context(), semaphore.New(srv.Client(t), "s", briefly.Linger(0))
	before := srv.Commands(t)
	for _, n := range []int64{-1, math.MinInt64, math.MaxInt32 + 1, math.MaxInt64} {
		try := s.TryAcquire(ctx, n)
		_, release := s.ReleaseIfExists(ctx, n)
		_, set := s.TrySetPermits(ctx, n)
		for _, err := range []error{s.Acquire(ctx, n), try, s.Release(ctx, n), release, set,
			s.Do(ctx, n, func(context.Context) error { panic("fn runs") })} {
			require.ErrorIs(t, err, redlatch.ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprint(n))
		}
		if n != -1 {
			_, err := s.AddPermits(ctx, n)
			require.ErrorIs(t, err, redlatch.ErrInvalid)
		}
	}
	for _, ttl := range []time.Duration{-time.Second, 0, time.Millisecond - 1} {
		_, err := s.Expire(ctx, ttl)
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		_, err = s.TrySetPermits(ctx, 1, redlatch.WithTTL(ttl))
		require.ErrorIs(t, err, redlatch.ErrInvalid)
	}
	require.Equal(t, before, srv.Commands(t))
}

func TestNoPermitsCostNoCommand(t *testing.T) {
	srv := redistest.Mini(t)
	ctx, s := t.Context(), semaphore.New(srv.Client(t), "s", briefly.Linger(0))
	before := srv.Commands(t)
	require.NoError(t, s.Acquire(ctx, 0))
	require.NoError(t, s.TryAcquire(ctx, 0))
	require.NoError(t, s.Release(ctx, 0))
	done, err := s.ReleaseIfExists(ctx, 0)
	require.NoError(t, err)
	require.False(t, done)
	require.Equal(t, before, srv.Commands(t))
}

func TestABadNameOrOptionIsReportedByEveryCall(t *testing.T) {
	client, ctx := redistest.Mini(t).Client(t), t.Context()
	for name, s := range map[string]*semaphore.Semaphore{
		"empty name":   semaphore.New(client, ""),
		"mapped empty": semaphore.New(client, "s", redlatch.WithNameMapper(func(string) string { return "" })),
		"lease":        semaphore.New(client, "s", redlatch.WithLease(time.Second)),
		"watchdog":     semaphore.New(client, "s", redlatch.WithWatchdogTimeout(time.Second)),
		"max hold":     semaphore.New(client, "s", redlatch.WithMaxHold(time.Second)),
		"replicas":     semaphore.New(client, "s", redlatch.WithReplicas(1, time.Second)),
	} {
		t.Run(name, func(t *testing.T) {
			for n := range int64(2) {
				try := s.TryAcquire(ctx, n)
				_, release := s.ReleaseIfExists(ctx, n)
				_, set := s.TrySetPermits(ctx, n)
				_, add := s.AddPermits(ctx, n)
				_, drain := s.DrainPermits(ctx)
				_, available := s.AvailablePermits(ctx)
				_, remove := s.Delete(ctx)
				_, expire := s.Expire(ctx, time.Second)
				_, persist := s.Persist(ctx)
				for i, err := range []error{s.Acquire(ctx, n), try, s.Release(ctx, n), release, set, add, drain, available,
					remove, expire, persist, s.Do(ctx, n, func(context.Context) error { return nil })} {
					require.ErrorIs(t, err, redlatch.ErrInvalid, "call %d with %d permits", i, n)
				}
			}
		})
	}
	s := semaphore.New(client, "s")
	require.ErrorIs(t, s.Acquire(ctx, 1, redlatch.WithTTL(time.Second)), redlatch.ErrInvalid)
	require.ErrorIs(t, s.Acquire(ctx, 1, redlatch.WithLease(time.Second)), redlatch.ErrInvalid)
	require.ErrorIs(t, s.TryAcquire(ctx, 1, redlatch.WithWait(time.Second)), redlatch.ErrInvalid)
	_, err := s.TrySetPermits(ctx, 1, redlatch.WithWait(time.Second))
	require.ErrorIs(t, err, redlatch.ErrInvalid)
}

func TestTryAcquireTakesOptionsOfItsOwn(t *testing.T) {
	s, ctx := semaphore.New(redistest.Mini(t).Client(t), "s"), t.Context()
	var heard []redlatch.EventKind
	err := s.TryAcquire(ctx, 1, redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		heard = append(heard, e.Kind)
	})))
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	require.Equal(t, []redlatch.EventKind{redlatch.EventWaiting, redlatch.EventRefused}, heard)
}

func TestEveryOperationKeepsTheTTL(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := semaphore.New(client, key, briefly.Linger(0))
		set, err := s.TrySetPermits(ctx, 5, redlatch.WithTTL(time.Hour))
		require.NoError(t, err)
		require.True(t, set)
		for name, call := range map[string]func() error{
			"acquire":   func() error { return s.Acquire(ctx, 1) },
			"release":   func() error { return s.Release(ctx, 1) },
			"if exists": func() error { _, err := s.ReleaseIfExists(ctx, 1); return err },
			"add":       func() error { _, err := s.AddPermits(ctx, 1); return err },
			"drain":     func() error { _, err := s.DrainPermits(ctx); return err },
			"available": func() error { _, err := s.AvailablePermits(ctx); return err },
			"set":       func() error { _, err := s.TrySetPermits(ctx, 1); return err },
		} {
			require.NoError(t, client.Set(ctx, key, 5, time.Hour).Err())
			require.NoError(t, call(), name)
			ttl := client.PTTL(ctx, key).Val()
			require.LessOrEqual(t, ttl, time.Hour, name)
			require.Greater(t, ttl, time.Hour-time.Minute, name)
		}
		done, err := s.Persist(ctx)
		require.NoError(t, err)
		require.True(t, done)
		require.Equal(t, time.Duration(-1), client.PTTL(ctx, key).Val())
		done, err = s.Persist(ctx)
		require.NoError(t, err)
		require.False(t, done)
		done, err = s.Expire(ctx, time.Minute)
		require.NoError(t, err)
		require.True(t, done)
		require.LessOrEqual(t, client.PTTL(ctx, key).Val(), time.Minute)
		require.Greater(t, client.PTTL(ctx, key).Val(), time.Duration(0))
	})
}

func TestATTLOfNewIsTheDefaultAndEndsTheSemaphore(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		s := semaphore.New(b.redis, "other", briefly.Linger(0), redlatch.WithTTL(time.Minute))
		set, err := s.TrySetPermits(b.Context(), 3)
		require.NoError(b, err)
		require.True(b, set)
		time.Sleep(time.Minute - time.Millisecond)
		n, err := s.AvailablePermits(b.Context())
		require.NoError(b, err)
		require.Equal(b, int64(3), n)
		time.Sleep(time.Millisecond)
		set, err = s.TrySetPermits(b.Context(), 4, redlatch.WithTTL(time.Second))
		require.NoError(b, err)
		require.True(b, set)
		time.Sleep(time.Second)
		n, err = s.AvailablePermits(b.Context())
		require.NoError(b, err)
		require.Zero(b, n)
	})
}

func TestAKeyThatHoldsSomethingElseIsAnErrorAndLeftAlone(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client := t.Context(), srv.Client(t)
		lock, text := srv.Key(t, "lock"), srv.Key(t, "text")
		require.NoError(t, client.HSet(ctx, lock, "owner", "1").Err())
		require.NoError(t, client.Set(ctx, text, "many", time.Hour).Err())
		for key, want := range map[string]string{lock: "WRONGTYPE", text: "integer"} {
			before := client.Dump(ctx, key).Val()
			s := semaphore.New(client, key, briefly.Linger(0), redlatch.WithReleaseTimeout(500*time.Millisecond))
			try := s.TryAcquire(ctx, 1)
			_, release := s.ReleaseIfExists(ctx, 1)
			_, set := s.TrySetPermits(ctx, 1)
			_, add := s.AddPermits(ctx, 1)
			_, drain := s.DrainPermits(ctx)
			_, available := s.AvailablePermits(ctx)
			_, remove := s.Delete(ctx)
			_, expire := s.Expire(ctx, time.Second)
			for i, err := range []error{s.Acquire(ctx, 1), try, s.Release(ctx, 1), release, set, add, drain, available, remove, expire} {
				require.ErrorContains(t, err, want, "call %d", i)
				require.ErrorContains(t, err, "use another name", "call %d", i)
				require.ErrorContains(t, err, key, "call %d", i)
				require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "call %d", i)
				if i != 2 && i != 3 { // releases go on trying, and the last try may be under way when their time is over
					require.NotErrorIs(t, err, redlatch.ErrUncertain, "call %d", i)
				}
			}
			require.Equal(t, before, client.Dump(ctx, key).Val())
		}
		require.Equal(t, time.Hour, client.TTL(ctx, text).Val().Round(time.Hour))
	})
}

func TestATotalOutOfRangeIsAnErrorAndChangesNothing(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		if !srv.Real {
			return // miniredis lets numbers wrap around
		}
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := semaphore.New(client, key, briefly.Linger(0), redlatch.WithReleaseTimeout(500*time.Millisecond))
		set(t, client, key, math.MaxInt64)
		require.ErrorContains(t, s.Release(ctx, 1), "overflow")
		_, err := s.AddPermits(ctx, 1)
		require.ErrorContains(t, err, "overflow")
		require.Equal(t, fmt.Sprint(int64(math.MaxInt64)), value(t, client, key))
	})
}

func TestDoGivesThePermitsBackHoweverTheWorkEnds(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		set(t, client, key, 5)
		s := semaphore.New(client, key, briefly.Linger(0))
		inside := func() { require.Equal(t, "3", value(t, client, key)) }

		require.NoError(t, s.Do(ctx, 2, func(context.Context) error { inside(); return nil }))
		require.Equal(t, "5", value(t, client, key))

		broken := errors.New("broken")
		require.ErrorIs(t, s.Do(ctx, 2, func(context.Context) error { inside(); return broken }), broken)
		require.Equal(t, "5", value(t, client, key))

		require.PanicsWithValue(t, "help", func() {
			_ = s.Do(ctx, 2, func(context.Context) error { inside(); panic("help") })
		})
		require.Equal(t, "5", value(t, client, key))

		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.Do(ctx, 2, func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-ended
		require.Equal(t, "5", value(t, client, key))

		over, cancel := context.WithCancel(ctx)
		require.ErrorIs(t, s.Do(over, 2, func(ctx context.Context) error { cancel(); return ctx.Err() }), context.Canceled)
		require.Equal(t, "5", value(t, client, key))

		err := s.Do(over, 2, func(context.Context) error { panic("fn runs without permits") })
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "it has not asked")
		require.NotErrorIs(t, err, redlatch.ErrUnavailable)
		err = s.Do(ctx, 6, func(context.Context) error { panic("fn runs without permits") }, redlatch.WithWait(0))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.Equal(t, "5", value(t, client, key))
	})
}
