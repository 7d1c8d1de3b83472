package redlatchtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/rlock"
)

// The tests of this file are those of docs/testing.md.

// A report is the code under test: whoever comes first makes it.
type report struct{ lock redlatch.Locker }

func (r *report) make(ctx context.Context, write func(ctx context.Context) error) (made bool, err error) {
	return redlatch.TryDo(ctx, r.lock, write, redlatch.WithWait(5*time.Second)) // false and nil: another one is at it
}

func waitForTheEnd(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestAReportOfAnotherProcess(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		theirs, err := rlock.New(server.Client(), "report").Lock(t.Context())
		require.NoError(t, err)
		ours := &report{rlock.New(server.Client(), "report")}
		start := time.Now()
		made, err := ours.make(t.Context(), func(context.Context) error { return nil })
		require.NoError(t, err)
		require.False(t, made)
		require.Equal(t, 5*time.Second, time.Since(start)) // exactly
		require.NoError(t, theirs.Unlock(t.Context()))
	})
}

func TestAReportWhoseLockIsStolen(t *testing.T) {
	redlatchtest.Bubble(t, func(t *testing.T, server *redlatchtest.Server) {
		ours := &report{rlock.New(server.Client(), "report")}
		_, err := ours.make(t.Context(), func(ctx context.Context) error {
			server.Steal("report")
			return waitForTheEnd(ctx)
		})
		require.ErrorIs(t, err, redlatch.ErrLost)
	})
}

func TestAReportWhileTheServerIsDown(t *testing.T) {
	redlatchtest.NothingHeld(t)
	server := redlatchtest.Run(t)
	ours := &report{rlock.New(server.Client(), "report", redlatch.WithOutage(100*time.Millisecond))}
	up := server.Down()
	_, err := ours.make(t.Context(), func(context.Context) error { return nil })
	require.ErrorIs(t, err, redlatch.ErrUnavailable)
	up()
	made, err := ours.make(t.Context(), func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, made)
}

func TestAReportWithAFakeLock(t *testing.T) {
	lock := redlatchtest.NewLocker("report")
	ours := &report{lock}
	_, err := ours.make(t.Context(), func(ctx context.Context) error {
		lock.Lose(nil)
		return waitForTheEnd(ctx)
	})
	require.ErrorIs(t, err, redlatch.ErrLost)
}
