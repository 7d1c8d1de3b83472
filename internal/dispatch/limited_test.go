package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/dispatch"
)

// A timer for each command would stay for as long as the limit: with a busy program a hundred thousand of them.
func TestLimitedContextsShareTheirEndsWhateverTheOrderOfTheirLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dispatch.New(newServer(), nil, linger(0))
		begin := time.Now()
		short, long := d.Limit(context.Background(), 2*time.Second, time.Now()), d.Limit(context.Background(), 5*time.Second, time.Now())
		for range 10 {
			require.Equal(t, short.Done(), d.Limit(context.Background(), 2*time.Second, time.Now()).Done())
			require.Equal(t, long.Done(), d.Limit(context.Background(), 5*time.Second, time.Now()).Done())
		}
		time.Sleep(201 * time.Millisecond)
		later := d.Limit(context.Background(), 2*time.Second, time.Now())
		require.NotEqual(t, short.Done(), later.Done(), "it would end too soon")
		require.Equal(t, long.Done(), d.Limit(context.Background(), 5*time.Second, time.Now()).Done())
		<-short.Done()
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.ErrorIs(t, short.Err(), context.DeadlineExceeded)
		require.NoError(t, later.Err())
		<-later.Done()
		<-long.Done()
		require.Equal(t, 5*time.Second, time.Since(begin))
	})
}
