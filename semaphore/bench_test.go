package semaphore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// BenchmarkWaiters is goroutines of one process that take turns at four permits: what a turn takes, and how many scripts
// the server executes for it.
func BenchmarkWaiters(b *testing.B) {
	for _, workers := range []int{8, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			srv := redistest.Real(b)
			s := semaphore.New(srv.Client(b), srv.Key(b, "s"))
			ctx := context.Background()
			_, err := s.TrySetPermits(ctx, 4)
			require.NoError(b, err)
			takeTurns(b, srv, slices.Repeat([]func() error{func() error {
				if err := s.Acquire(ctx, 1); err != nil {
					return err
				}
				return s.Release(ctx, 1)
			}}, workers))
		})
	}
}

// BenchmarkProcesses is four processes of eight goroutines that take turns at four permits, and how evenly: the index of
// Jain over the goroutines, and the smallest share in hundredths of an even one.
func BenchmarkProcesses(b *testing.B) {
	srv := redistest.Real(b)
	key := srv.Key(b, "s")
	ctx := context.Background()
	var turns []func() error
	counts := make([]int64, 4*8)
	for p := range 4 {
		s := semaphore.New(srv.Client(b), key)
		_, err := s.TrySetPermits(ctx, 4)
		require.NoError(b, err)
		for w := range 8 {
			turns = append(turns, func() error {
				if err := s.Acquire(ctx, 1); err != nil {
					return err
				}
				counts[8*p+w]++ // each its own
				return s.Release(ctx, 1)
			})
		}
	}
	takeTurns(b, srv, turns)
	sum, squares := 0.0, 0.0
	for _, n := range counts {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	even := sum / float64(len(counts))
	b.ReportMetric(sum*sum/squares/float64(len(counts)), "jain")
	b.ReportMetric(100*float64(slices.Min(counts))/even, "smallest-%")
}

// BenchmarkPair is a pair of Acquire and Release by a lone caller.
func BenchmarkPair(b *testing.B) {
	for _, name := range []string{"background", "cancellable"} {
		b.Run(name, func(b *testing.B) {
			srv := redistest.Real(b)
			s := semaphore.New(srv.Client(b), srv.Key(b, "s"))
			ctx, cancel := context.Background(), func() {}
			if name == "cancellable" {
				ctx, cancel = context.WithCancel(ctx)
			}
			defer cancel()
			_, err := s.TrySetPermits(ctx, 4)
			require.NoError(b, err)
			b.ReportAllocs()
			takeTurns(b, srv, []func() error{func() error {
				if err := s.Acquire(ctx, 1); err != nil {
					return err
				}
				return s.Release(ctx, 1)
			}})
		})
	}
}

// takeTurns has all of turns be taken again and again, b.N times in all.
func takeTurns(b *testing.B, srv *redistest.Server, turns []func() error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	before := evaluated(b, srv)
	b.ResetTimer()
	var all sync.WaitGroup
	for _, turn := range turns {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := turn(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(evaluated(b, srv)-before)/float64(b.N), "scripts/op")
}

func evaluated(b *testing.B, srv *redistest.Server) int64 {
	stats := srv.CommandStats(b)
	return stats["evalsha"] + stats["eval"]
}
