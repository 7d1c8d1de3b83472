package suite_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/locktest"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// An observer may end its goroutine, as a test that fails does. The renewals of one server leave together.
func TestAnObserverThatEndsItsGoroutineStopsNoRenewal(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		ends := redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventRenewed {
				runtime.Goexit()
			}
		})
		var held []*redlatch.Hold
		for i := range 600 { // six scripts
			lock := rlock.New(client, strconv.Itoa(i), locktest.With(redlatch.WithObserver(ends))...)
			held = append(held, locktest.Take(t, lock, context.Background()))
		}
		time.Sleep(2 * time.Minute)
		for _, h := range held {
			require.True(t, h.Valid(), h)
			require.NoError(t, h.Unlock(context.Background()))
		}
	})
}
