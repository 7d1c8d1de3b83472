package observe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
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
