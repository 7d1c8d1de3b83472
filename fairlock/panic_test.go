package fairlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// An explosive is a hook that panics at the next script.
type explosive struct{ armed atomic.Bool }

func (e *explosive) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e *explosive) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if e.armed.CompareAndSwap(true, false) {
			panic("a hook of the client")
		}
		return next(ctx, cmd)
	}
}

func (e *explosive) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A program may recover from it, as an HTTP server does. The others of its process and of other processes go on.
func TestAWaiterWhoseHookPanicsStandsInTheQueueNoLonger(t *testing.T) {
	for at, waits := range map[string]time.Duration{"at its first question": 0, "at a later one": time.Second} {
		t.Run(at, func(t *testing.T) {
			bubble(t, 2, func(w *world) {
				e := &explosive{}
				w.clients[0].AddHook(e)
				hold, err := w.lock(1).Lock(w.Context())
				require.NoError(t, err)
				e.armed.Store(waits == 0)
				panicked := make(chan any)
				go func() {
					defer func() { panicked <- recover() }()
					_, _ = w.lock(0).Lock(context.Background()) // such a caller's commands run on its own goroutine
				}()
				synctest.Wait()
				if waits > 0 {
					time.Sleep(waits)
					e.armed.Store(true)
				}
				require.NotNil(t, <-panicked)
				same, other := w.stands(0, "same process"), w.stands(1, "other process")
				require.NoError(t, hold.Unlock(w.Context()))
				start := time.Now()
				require.NoError(t, <-same)
				require.NoError(t, <-other)
				require.Less(t, time.Since(start), 3*time.Second)
				time.Sleep(2 * time.Minute)
				require.Empty(t, w.mini.Keys())
			})
		})
	}
}
