package redlatch_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/rlock"
)

// The tests of this file are what docs/testing.md tells users to write, with nothing that they do not have.

// A report is the code under test: whoever comes first makes it.
type report struct{ lock redlatch.Locker }

func (r *report) make(ctx context.Context, write func(ctx context.Context) error) (made bool, err error) {
	err = redlatch.Do(ctx, r.lock, write, redlatch.WithWait(5*time.Second))
	if errors.Is(err, redlatch.ErrNotAcquired) {
		return false, nil
	}
	return err == nil, err
}

func waitForTheEnd(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestUsersCanTestWithMiniredis(t *testing.T) {
	server := miniredis.RunT(t)
	server.ClockTTL(true)
	process := func() *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	ours := &report{rlock.New(process(), "report", redlatch.WithLinger(0), redlatch.WithWatchdogTimeout(300*time.Millisecond))}

	made, err := ours.make(t.Context(), func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, made)

	_, err = ours.make(t.Context(), func(ctx context.Context) error {
		server.Del("report")
		return waitForTheEnd(ctx)
	})
	require.ErrorIs(t, err, redlatch.ErrLost)

	theirs, err := rlock.New(process(), "report", redlatch.WithLinger(0)).Lock(t.Context(), redlatch.WithLease(100*time.Millisecond))
	require.NoError(t, err)
	made, err = ours.make(t.Context(), func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, made, "the lease was over")
	require.ErrorIs(t, theirs.Unlock(t.Context()), redlatch.ErrLost)

	server.SetError("LOADING")
	impatient := &report{rlock.New(process(), "report", redlatch.WithLinger(0), redlatch.WithOutage(100*time.Millisecond))}
	_, err = impatient.make(t.Context(), func(context.Context) error { return nil })
	require.ErrorContains(t, err, "LOADING")
	server.SetError("")
	made, err = impatient.make(t.Context(), func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, made)
}

func TestUsersCanTestOnFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true)
		defer server.Close()
		process := func() *redis.Client {
			client := redis.NewClient(&redis.Options{
				Dialer:                   func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
				PoolSize:                 1000,
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			})
			t.Cleanup(func() { _ = client.Close() })
			return client
		}
		defer time.Sleep(time.Minute)

		theirs, err := rlock.New(process(), "report").Lock(t.Context())
		require.NoError(t, err)
		ours := &report{rlock.New(process(), "report")}
		start := time.Now()
		made, err := ours.make(t.Context(), func(context.Context) error { return nil })
		require.NoError(t, err)
		require.False(t, made)
		require.Equal(t, 5*time.Second, time.Since(start))

		time.Sleep(time.Hour)
		require.True(t, theirs.Valid())
		require.NoError(t, theirs.Unlock(t.Context()))
		_, err = ours.make(t.Context(), func(ctx context.Context) error {
			server.Del("report")
			return waitForTheEnd(ctx)
		})
		require.ErrorIs(t, err, redlatch.ErrLost)
	})
}
