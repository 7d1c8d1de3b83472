package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// BenchmarkProcesses has 200 processes take turns at a lock, for a millisecond each, and counts the scripts of a turn.
func BenchmarkProcesses(b *testing.B) {
	for name, opts := range map[string][]redlatch.Option{"renewed": nil, "leased": {redlatch.WithLease(time.Minute)}} {
		b.Run(name, func(b *testing.B) {
			srv := redistest.Process(b)
			turns := make([]func(context.Context) error, 200)
			for i := range turns {
				lock := rlock.New(srv.Client(b), "lock", opts...)
				turns[i] = func(ctx context.Context) error {
					return lock.Do(ctx, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
				}
			}
			srv.MeasureTurns(b.Context(), b, turns)
		})
	}
}
