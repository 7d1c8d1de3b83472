package redlatch_test

import (
	"context"
	"fmt"
	"slices"
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
				s.srv.MeasureTurns(context.Background(), b, turns)
			})
		}
	}
}
