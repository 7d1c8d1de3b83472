package redlatchtest_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

func TestABusyLockerIsRefusedAndWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := redlatchtest.NewLocker("orders")
		free, again := lock.Busy(), lock.Busy()
		refused(t, lock)
		_, err := lock.Lock(t.Context(), redlatch.WithWait(time.Second))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		start := time.Now()
		time.AfterFunc(time.Minute, free)
		time.AfterFunc(2*time.Minute, again)
		hold := take(t, lock, redlatch.WithWait(time.Hour))
		require.Equal(t, 2*time.Minute, time.Since(start))
		free()
		refused(t, lock)
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, take(t, lock).Unlock(t.Context()))
	})
}

func TestALockerThatFailsIsUnavailable(t *testing.T) {
	lock := redlatchtest.NewLocker("orders")
	hold := take(t, lock)
	restore := lock.Fail(io.EOF)
	for _, fails := range []func() error{
		func() error { _, err := lock.Lock(t.Context()); return err },
		func() error { _, err := lock.TryLock(t.Context()); return err },
		func() error { return hold.Extend(t.Context(), time.Hour) },
		func() error { return hold.Unlock(t.Context()) },
	} {
		err := fails()
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.ErrorIs(t, err, io.EOF)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
	}
	restore()
	restore()
	require.NoError(t, take(t, lock).Unlock(t.Context()), "it was given back at last")
}

func TestALockerLosesItsHoldsAndIsFree(t *testing.T) {
	lock := redlatchtest.NewLocker("orders")
	hold := take(t, lock)
	ctx := hold.Context(t.Context())
	inner, err := lock.Lock(ctx)
	require.NoError(t, err)
	require.Greater(t, inner.Token(), hold.Token())
	broken := errors.New("broken")
	lock.Lose(broken)
	require.ErrorIs(t, context.Cause(ctx), redlatch.ErrLost)
	require.ErrorIs(t, inner.Unlock(t.Context()), broken)
	require.ErrorIs(t, hold.Unlock(t.Context()), broken)
	require.NoError(t, take(t, lock).Unlock(t.Context()))
}

func TestALockerThatIsLostGoesToWhoeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := redlatchtest.NewLocker("orders")
		lock.Lose(nil) // of which nobody holds
		before := take(t, lock)
		require.NoError(t, before.Unlock(t.Context()))
		hold, start := take(t, lock), time.Now()
		time.AfterFunc(time.Minute, func() { lock.Lose(nil) })
		next, err := lock.Lock(t.Context(), redlatch.WithWait(time.Hour))
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
		require.True(t, next.Valid())
		var loss *redlatch.LossError
		require.ErrorAs(t, hold.Unlock(t.Context()), &loss)
		require.Equal(t, redlatch.LossError{Name: "orders", Owner: hold.Owner(), Reason: redlatch.ReasonTaken, Detail: "the test has it lost", At: loss.At}, *loss)
		require.ErrorIs(t, before.Unlock(t.Context()), redlatch.ErrReleased, "it was over")
		require.NoError(t, next.Unlock(t.Context()))
	})
}

func TestWhatALockerHasHandedOutIsFoundHeld(t *testing.T) {
	require.Contains(t, failure(t, func(tb testing.TB) {
		redlatchtest.NothingHeld(tb)
		take(t, redlatchtest.NewLocker("orders")).Context(t.Context())
	}), `"orders" is still held by memory:1`)
}

func TestALockerHasAName(t *testing.T) {
	require.Equal(t, "orders", redlatchtest.NewLocker("orders").Name())
	_, err := redlatchtest.NewLocker("").Lock(t.Context())
	require.ErrorIs(t, err, redlatch.ErrInvalid)
}
