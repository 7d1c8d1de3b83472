package redistest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// TakeTurns calls each of turns again and again with ctx, on a goroutine of its own, n times in all. It returns how often
// each was called.
func TakeTurns(ctx context.Context, b *testing.B, n int, turns []func(ctx context.Context) error) (calls []int64) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(n))
	calls = make([]int64, len(turns))
	var all sync.WaitGroup
	for i, turn := range turns {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := turn(ctx); err != nil {
					b.Error(err)
					return
				}
				calls[i]++
			}
		})
	}
	all.Wait()
	return calls
}

// MeasureTurns has turns taken b.N times. It reports the scripts that the server executes for a turn, and the Evenness.
// Before that it takes as many turns as there are goroutines, so that the clients are connected.
func (s *Server) MeasureTurns(ctx context.Context, b *testing.B, turns []func(ctx context.Context) error) {
	b.Helper()
	TakeTurns(ctx, b, len(turns), turns)
	before := s.Scripts(b)
	b.ResetTimer()
	calls := TakeTurns(ctx, b, b.N, turns)
	b.StopTimer()
	b.ReportMetric(float64(s.Scripts(b)-before)/float64(b.N), "scripts/op")
	b.ReportMetric(Evenness(calls), "jain")
}

// Evenness is the index of Jain: 1 if all calls are equal, 1/n if one of the n goroutines made all of them.
func Evenness(calls []int64) float64 {
	sum, squares := 0.0, 0.0
	for _, n := range calls {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	return sum * sum / squares / float64(len(calls))
}
