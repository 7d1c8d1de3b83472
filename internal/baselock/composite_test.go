package baselock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A waiter may leave when it has been claimed, and has not been given the lock yet. From outside that moment is met by
// chance only.
func TestWhoseHeirHasLeftHoldsAsBefore(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		lost := 0
		kind := Plain().HandingOver()
		b := New(client, "lock", &kind, []redlatch.Option{briefly.Linger(0), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventLost {
				lost++
			}
		}))})
		hold, err := b.acquire(t.Context(), b.defaults, false)
		require.NoError(t, err)
		o := hold.owner
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := b.acquire(ctx, b.defaults, false)
			left <- err
		}()
		synctest.Wait()
		next := b.Session.Cohorts.Release(b.line, o)
		require.Equal(t, cohort.Unfit, next.Step, "what was sent before this process listened is old news")
		o.streak.News = time.Now().Add(time.Nanosecond)
		given, poll := o.HandOn(next.Cohort, next.Claim.Who())
		require.NotNil(t, given)
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		require.False(t, next.Claim.Give(given, poll))
		require.Equal(t, o, o.Missed(given))

		_, held, _ := b.Session.Cohorts.Busy(b.line, false)
		require.True(t, held)
		require.NoError(t, hold.Unlock(t.Context()))
		_, held, _ = b.Session.Cohorts.Busy(b.line, false)
		require.False(t, held, "whoever comes would wait for somebody who is not there")
		time.Sleep(time.Minute)
		require.Zero(t, lost, "nobody holds who does not know it")
	})
}
