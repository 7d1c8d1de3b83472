package cohort_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

// Fifty callers that each tried on for ten seconds, one after another, would keep the last one for minutes.
func TestAnOutageIsFoundOutOnceForEverybodyInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := cohort.NewQueue(nil)
		down := errors.New("the server is down")
		attempts := 0
		attempt := func(context.Context) (cohort.Verdict, error) {
			attempts++
			time.Sleep(10 * time.Second)
			return cohort.Verdict{Down: true}, down
		}
		start := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				require.ErrorIs(t, line.Wait(t.Context(), time.Second, attempt), down)
				require.LessOrEqual(t, time.Since(start), 20*time.Second)
			})
			synctest.Wait()
		}
		wg.Wait()
		require.Equal(t, 2, attempts, "one for the first, during which the others came, and one for them")
		require.Zero(t, line.Len())
	})
}

// Who comes while the attempt is under way has not been asked for, and asks.
func TestWhoComesDuringAFailingAttemptAsksForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := cohort.NewQueue(nil)
		down := errors.New("the server is down")
		failing := true
		attempt := func(context.Context) (cohort.Verdict, error) {
			if !failing {
				return cohort.Verdict{Done: true}, nil
			}
			time.Sleep(10 * time.Second)
			failing = false
			return cohort.Verdict{Down: true}, down
		}
		var wg sync.WaitGroup
		wg.Go(func() { require.ErrorIs(t, line.Wait(t.Context(), time.Second, attempt), down) })
		time.Sleep(time.Second)
		wg.Go(func() { require.NoError(t, line.Wait(t.Context(), time.Second, attempt)) })
		wg.Wait()
	})
}
