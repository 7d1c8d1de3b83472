package redlatch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

// A turn takes something and gives it back.
type turn = func(ctx context.Context) error

func turnOf(lock redlatch.Locker) turn {
	return func(ctx context.Context) error {
		hold, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		return hold.Unlock(ctx)
	}
}

// composites make the turns of one process, with clients of its own.
var composites = map[string]func(b *testing.B, s *stage, others []*redistest.Server) turn{
	"floor": func(b *testing.B, s *stage, _ []*redistest.Server) turn {
		client := s.srv.Client(b)
		lock := redis.NewScript("return redis.call('set', KEYS[1], '1')")
		free := redis.NewScript("return redis.call('del', KEYS[1])")
		require.NoError(b, lock.Load(context.Background(), client).Err())
		require.NoError(b, free.Load(context.Background(), client).Err())
		var queue sync.Mutex
		return func(ctx context.Context) error {
			queue.Lock()
			defer queue.Unlock()
			if err := lock.EvalSha(ctx, client, []string{"floor"}).Err(); err != nil {
				return err
			}
			return free.EvalSha(ctx, client, []string{"floor"}).Err()
		}
	},
	"multilock": func(b *testing.B, s *stage, _ []*redistest.Server) turn {
		client := s.srv.Client(b)
		var members []redlatch.Locker
		for i := range 3 {
			members = append(members, rlock.New(client, fmt.Sprint("{multi}", i)))
		}
		return turnOf(multilock.New(members))
	},
	"redlock": func(b *testing.B, s *stage, others []*redistest.Server) turn {
		return turnOf(redlock.New([]redlatch.Client{s.srv.Client(b), others[0].Client(b), others[1].Client(b)}, "redlock"))
	},
}

// BenchmarkComposites is goroutines that take turns at a lock of three members: a multi-lock on one server, a redlock on three.
// The floor is two scripts behind a local queue.
func BenchmarkComposites(b *testing.B) {
	for _, crowd := range []struct{ processes, goroutines int }{{1, 1}, {1, 16}, {1, 128}, {4, 8}} {
		for _, kind := range []string{"floor", "multilock", "redlock"} {
			b.Run(fmt.Sprintf("%s/%dx%d", kind, crowd.processes, crowd.goroutines), func(b *testing.B) {
				s := newStage(b)
				others := []*redistest.Server{redistest.Process(b), redistest.Process(b)}
				var turns []turn
				for range crowd.processes {
					turns = append(turns, slices.Repeat([]turn{composites[kind](b, s, others)}, crowd.goroutines)...)
				}
				s.srv.MeasureTurns(context.Background(), b, turns)
			})
		}
	}
}
