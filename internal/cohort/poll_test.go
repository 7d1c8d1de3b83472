package cohort_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/cohort"
)

// poll starts a waiter that sleeps for each of sleeps in turn, and returns where its result arrives.
func (r *thing) poll(t *testing.T, l *cohort.Queue, ctx context.Context, who string, sleeps ...time.Duration) <-chan error {
	result, attempt := make(chan error, 1), r.attempt(t, who)
	pause := func() time.Duration {
		next := sleeps[0]
		if len(sleeps) > 1 {
			sleeps = sleeps[1:]
		}
		return next
	}
	go func() {
		result <- l.Poll(ctx, pause, nil, func(ctx context.Context) (cohort.Verdict, error) {
			v, err := attempt(ctx)
			v.Sleep = pause()
			return v, err
		})
	}()
	synctest.Wait()
	return result
}

func TestAPollingHeadSleepsBeforeItsFirstAttemptToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(nil), newThing(0)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
		defer cancel()
		result := r.poll(t, l, ctx, "a", 1e6, 2e6, 4e6, 8e6)
		require.ErrorIs(t, <-result, context.DeadlineExceeded)
		require.Equal(t, []time.Duration{1e6, 3e6, 7e6, 15e6, 23e6, 31e6, 39e6}, r.times)
		require.Equal(t, 40*time.Millisecond, time.Since(r.start))
	})
}

func TestTheNextPollerBeginsWithItsOwnSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r := cohort.NewQueue(nil), newThing(1)
		first := r.poll(t, l, t.Context(), "a", 100e6)
		second := r.poll(t, l, t.Context(), "b", 1e6, 30e6)
		require.NoError(t, <-first)
		synctest.Wait()
		r.mu.Lock()
		r.units = 1
		r.mu.Unlock()
		require.NoError(t, <-second)
		require.Equal(t, []time.Duration{100e6, 101e6}, r.times, "not what the first left behind")

		leaving, cancel := context.WithCancel(t.Context())
		third := r.poll(t, l, leaving, "c", time.Hour)
		fourth := r.poll(t, l, t.Context(), "d", 5e6)
		r.mu.Lock()
		r.units = 1
		r.mu.Unlock()
		cancel()
		require.ErrorIs(t, <-third, context.Canceled)
		require.NoError(t, <-fourth)
		require.Equal(t, 106*time.Millisecond, time.Since(r.start))
	})
}
