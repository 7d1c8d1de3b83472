package permitsemaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

func TestASizedWaiterBehindAnUnsizedHeadSetsUpASemaphoreThatIsGone(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		poll := redlatch.WithPoll(3 * time.Second)
		first := permitsemaphore.New(client, "s", briefly.Linger(0), poll)
		second := permitsemaphore.New(client, "s", briefly.Linger(0), poll, permitsemaphore.WithPermits(2))
		_, err := first.TrySetPermits(t.Context(), 0)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		served := make(chan error, 2)
		acquire := func(s *permitsemaphore.Semaphore) {
			p, err := s.Acquire(ctx, 1)
			served <- err
			if err == nil {
				_ = p.Release(ctx)
			}
		}
		go acquire(first)
		time.Sleep(100 * time.Millisecond)
		go acquire(second)
		time.Sleep(100 * time.Millisecond)
		_, err = first.Delete(t.Context())
		require.NoError(t, err)
		e1, e2 := <-served, <-served
		time.Sleep(time.Second)
		require.NoError(t, e1)
		require.NoError(t, e2)
	})
}
