package observe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

func TestAQuestionEndsWithItsWait(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		over := make(chan error, 1)
		s.look = func(ctx context.Context) (redlatch.Info, error) {
			<-ctx.Done()
			over <- ctx.Err()
			return redlatch.Info{}, ctx.Err()
		}
		call := s.waits(redlatch.WithSlowWait(limit), s.observer())
		time.Sleep(limit)
		synctest.Wait()
		require.Empty(t, over)
		call.Opened()
		synctest.Wait()
		require.Len(t, over, 1, "the question has ended at once, and not after its own second")
		require.ErrorIs(t, <-over, context.Canceled)
	})
}

// A call whose context has ended is about to end: nothing is asked for it, and nothing is told that is but the end of the context.
func TestNothingIsToldOfAWaitWhoseContextHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, s *stage) {
		s.look = func(ctx context.Context) (redlatch.Info, error) { <-ctx.Done(); return redlatch.Info{}, ctx.Err() }
		for _, before := range []time.Duration{-time.Millisecond, time.Millisecond} {
			ctx, cancel := context.WithCancel(t.Context())
			set := rootapi.Apply(settings.Defaults(), []redlatch.Option{redlatch.WithSlowWait(limit), s.observer(), s.logger()})
			call := observe.Begin(ctx, &set, s, "lock", "orders", 0)
			time.Sleep(limit + before)
			synctest.Wait()
			cancel()
			time.Sleep(time.Minute)
			require.Equal(t, before > 0, s.asks == 1)
			require.Empty(t, s.lines())
			s.expect()
			call.Refused(context.Canceled)
		}
	})
}
