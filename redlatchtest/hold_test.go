package redlatchtest_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

func TestAHoldLastsUntilItIsUnlockedAndCanBeUnlockedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, _ := redlatchtest.NewHold(redlatchtest.Terms{Name: "orders", Owner: "me", Token: 7})
		ctx := hold.Context(t.Context())
		time.Sleep(time.Hour)
		require.True(t, hold.Valid())
		require.NoError(t, ctx.Err())
		require.Equal(t, "me", hold.Owner())
		require.EqualValues(t, 7, hold.Token())
		require.NoError(t, hold.Extend(t.Context(), time.Minute))
		require.NoError(t, hold.Unlock(t.Context()))
		require.ErrorIs(t, context.Cause(ctx), redlatch.ErrReleased)
		require.False(t, hold.Valid())
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrReleased)
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), redlatch.ErrReleased)
	})
}

func TestALeaseRunsOutUnlessItIsExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		hold, _ := redlatchtest.NewHold(redlatchtest.Terms{Name: "orders", Lease: time.Minute})
		require.Equal(t, start.Add(time.Minute), hold.Until())
		time.Sleep(time.Minute - 1)
		require.NoError(t, hold.Extend(t.Context(), time.Hour))
		require.NoError(t, hold.Extend(t.Context(), time.Minute), "which changes nothing")
		ctx := hold.Context(t.Context())
		<-ctx.Done()
		require.Equal(t, time.Hour+time.Minute-1, time.Since(start))
		require.ErrorIs(t, context.Cause(ctx), redlatch.ErrLost)
		require.False(t, hold.Valid())
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), redlatch.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), redlatch.ErrReleased)
	})
}

func TestALeaseOfAHoldThatIsUnlockedDoesNotRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold, lose := redlatchtest.NewHold(redlatchtest.Terms{Lease: time.Minute})
		ctx := hold.Context(t.Context())
		require.NoError(t, hold.Unlock(t.Context()))
		lose(nil)
		time.Sleep(time.Hour)
		require.ErrorIs(t, context.Cause(ctx), redlatch.ErrReleased)
	})
}

func TestATestHasAHoldLost(t *testing.T) {
	unlocked := false
	hold, lose := redlatchtest.NewHold(redlatchtest.Terms{
		Name: "orders", Owner: "me", Unlock: func(context.Context) error { unlocked = true; return nil },
	})
	ctx := hold.Context(t.Context())
	before := hold.Until()
	lose(io.EOF)
	lose(nil)
	require.False(t, hold.Until().After(before))
	var loss *redlatch.LossError
	require.ErrorAs(t, context.Cause(ctx), &loss)
	require.Equal(t, redlatch.LossError{Name: "orders", Owner: "me", Reason: redlatch.ReasonTaken, Detail: "the test has it lost", At: loss.At, Cause: io.EOF}, *loss)
	require.ErrorIs(t, hold.Unlock(t.Context()), io.EOF)
	require.False(t, unlocked, "there is nothing to give back")
}

func TestTheTestDecidesWhatUnlockAndExtendAnswer(t *testing.T) {
	broken := errors.New("broken")
	var ctx context.Context
	hold, _ := redlatchtest.NewHold(redlatchtest.Terms{
		Lease:  time.Hour,
		Unlock: func(context.Context) error { require.Error(t, ctx.Err(), "the contexts end first"); return broken },
		Extend: func(_ context.Context, lease time.Duration) error {
			if lease > 2*time.Hour {
				return broken
			}
			return nil
		},
	})
	ctx = hold.Context(t.Context())
	until := hold.Until()
	require.ErrorIs(t, hold.Extend(ctx, 3*time.Hour), broken)
	require.Equal(t, until, hold.Until())
	require.NoError(t, hold.Extend(ctx, 2*time.Hour))
	require.True(t, hold.Until().After(until))
	require.ErrorIs(t, hold.Unlock(t.Context()), broken)
}

func TestAHoldThatIsDroppedEnds(t *testing.T) {
	done := func() <-chan struct{} {
		hold, _ := redlatchtest.NewHold(redlatchtest.Terms{})
		return hold.Context(context.Background()).Done()
	}()
	for deadline := time.Now().Add(20 * time.Second); ; runtime.GC() {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
			require.True(t, time.Now().Before(deadline), "not noticed")
		}
	}
}
