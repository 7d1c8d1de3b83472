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

// If fifty waiters tried for ten seconds each, one after another, the last of them would wait for minutes.
func TestAnOutageIsFoundOutOnceForAllWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := cohort.NewQueue(nil)
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
				require.ErrorIs(t, queue.WaitFor(t.Context(), time.Second, nil, attempt), down)
				require.LessOrEqual(t, time.Since(start), 20*time.Second)
			})
			synctest.Wait()
		}
		wg.Wait()
		require.Equal(t, 2, attempts, "one for the first, during which the others came, and one for them")
		require.Zero(t, queue.Len())
	})
}

// The attempt was not for a waiter that came after it had begun.
func TestAWaiterThatComesDuringAFailingAttemptAsksForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := cohort.NewQueue(nil)
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
		wg.Go(func() { require.ErrorIs(t, queue.WaitFor(t.Context(), time.Second, nil, attempt), down) })
		time.Sleep(time.Second)
		wg.Go(func() { require.NoError(t, queue.WaitFor(t.Context(), time.Second, nil, attempt)) })
		wg.Wait()
	})
}
