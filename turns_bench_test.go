package redlatch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/semaphore"
)

const turnPermits = 4

// turnTakers make, for a new client, what takes one of four permits and gives it back.
var turnTakers = map[string]func(b *testing.B, client redlatch.Client, key string) func(ctx context.Context) error{
	"plain": func(b *testing.B, client redlatch.Client, key string) func(ctx context.Context) error {
		s := semaphore.New(client, key)
		_, err := s.TrySetPermits(context.Background(), turnPermits)
		require.NoError(b, err)
		return func(ctx context.Context) error {
			if err := s.Acquire(ctx, 1); err != nil {
				return err
			}
			return s.Release(ctx, 1)
		}
	},
	"leased": func(b *testing.B, client redlatch.Client, key string) func(ctx context.Context) error {
		s := permitsemaphore.New(client, key)
		_, err := s.TrySetPermits(context.Background(), turnPermits)
		require.NoError(b, err)
		return func(ctx context.Context) error {
			permit, err := s.Acquire(ctx, 1)
			if err != nil {
				return err
			}
			return permit.Release(ctx)
		}
	},
}

// BenchmarkTurns is processes whose goroutines take turns at four permits: what a turn takes, how many scripts the server
// executes for it, and how evenly the turns fall, as the index of Jain over the goroutines.
func BenchmarkTurns(b *testing.B) {
	for kind, taker := range turnTakers {
		for _, crowd := range []struct{ processes, goroutines int }{{1, 8}, {1, 64}, {4, 8}} {
			b.Run(fmt.Sprintf("%s/%dx%d", kind, crowd.processes, crowd.goroutines), func(b *testing.B) {
				s := newStage(b)
				key := s.srv.Key(b, "permits")
				var turns []func(ctx context.Context) error
				for range crowd.processes {
					turns = append(turns, slices.Repeat([]func(ctx context.Context) error{taker(b, s.srv.Client(b), key)}, crowd.goroutines)...)
				}
				s.takeTurns(b, turns)
			})
		}
	}
}

// takeTurns has all of turns be taken again and again, b.N times in all.
func (s *stage) takeTurns(b *testing.B, turns []func(ctx context.Context) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	counts := make([]float64, len(turns))
	before := s.scripts(b)
	b.ResetTimer()
	var all sync.WaitGroup
	for i, turn := range turns {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := turn(context.Background()); err != nil {
					b.Error(err)
					return
				}
				counts[i]++
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(s.scripts(b)-before)/float64(b.N), "scripts/op")
	sum, squares := 0.0, 0.0
	for _, n := range counts {
		sum += n
		squares += n * n
	}
	b.ReportMetric(sum*sum/squares/float64(len(counts)), "jain")
}
