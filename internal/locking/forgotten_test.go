package locking_test

import (
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A goroutine that waits for the end of a hold need not keep the hold, nor its context: it has the channel.
func TestADroppedHoldEndsForWhoWaitsOnItsDoneChannel(t *testing.T) {
	srv := redistest.Mini(t)
	b := baselock.New(srv.Client(t), srv.Key(t, name), &plain, []redlatch.Option{
		briefly.Linger(0), redlatch.WithLogger(slog.New(slog.DiscardHandler)),
	})
	ended := func() <-chan struct{} {
		h, err := locking.Lock(t.Context(), b, nil)
		require.NoError(t, err)
		return h.Context(t.Context()).Done()
	}()
	for start := time.Now(); ; runtime.GC() {
		select {
		case <-ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if time.Since(start) > time.Minute {
			t.Fatal("nobody was told of the end of a hold that was dropped")
		}
	}
}
