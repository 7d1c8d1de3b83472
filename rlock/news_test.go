package rlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// A lock is taken by force from a process in which somebody waits for it, another process takes it, and the process that
// had it gives it back a millisecond later. How often the waiter was handed it beside the other process is reported.
func BenchmarkForceUnlockThenUnlock(b *testing.B) {
	srv := redistest.Real(b)
	ours := rlock.New(srv.Client(b), "lock")
	theirs := rlock.New(srv.Client(b), "lock")
	handedOn, saidNothing := 0, 0
	type got struct {
		hold *redlatch.Hold
		err  error
	}
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		wait := func() <-chan got {
			came := make(chan got, 1)
			go func() {
				h, err := ours.Lock(ctx)
				came <- got{h, err}
			}()
			return came
		}
		first, err := ours.Lock(ctx)
		require.NoError(b, err)
		second := wait()
		time.Sleep(5 * time.Millisecond) // it waits, and is subscribed
		require.NoError(b, first.Unlock(ctx))
		held := (<-second).hold
		third := wait()
		time.Sleep(200 * time.Microsecond)
		_, err = theirs.ForceUnlock(ctx)
		require.NoError(b, err)
		other, err := theirs.TryLock(ctx)
		time.Sleep(time.Millisecond)
		if unlocked := held.Unlock(ctx); err == nil && !errors.Is(unlocked, redlatch.ErrLost) {
			saidNothing++
		}
		if err == nil {
			time.Sleep(time.Millisecond)
			select {
			case next := <-third:
				if next.err == nil {
					handedOn++
					_ = next.hold.Unlock(ctx)
				}
				third = nil
			default:
			}
			_ = other.Unlock(ctx)
		}
		cancel()
		if third != nil {
			if next := <-third; next.err == nil {
				_ = next.hold.Unlock(context.Background())
			}
		}
	}
	b.ReportMetric(float64(handedOn), "handed-on")
	b.ReportMetric(float64(saidNothing), "said-nothing")
}
