package sim_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/proof/internal/naive"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// What is wrong is convicted, and of the right thing: otherwise a green simulation says nothing.
func TestNaivePrimitivesAreConvicted(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  sim.Kind
		check string
		suite func(s *sim.Suite)
	}{
		{"a lock that nobody renews", sim.Lock, "exclusion", func(*sim.Suite) {}},
		{"a queue that nobody looks at", sim.Fair, "order", func(s *sim.Suite) {
			s.Locker = func(rdb []redis.UniversalClient, o sim.Object, _ string) sim.Locker {
				return naive.Queue{Locker: naive.Locker{Redis: rdb[0], Name: o.Name}}
			}
		}},
		{"a waiter that believes in messages", sim.Lock, "stall", func(s *sim.Suite) {
			s.Locker = func(rdb []redis.UniversalClient, o sim.Object, _ string) sim.Locker {
				return naive.Listener{Locker: naive.Locker{Redis: rdb[0], Name: o.Name}}
			}
		}},
		{"a semaphore that looks before it takes", sim.Semaphore, "permits", func(s *sim.Suite) {
			s.Semaphore = func(rdb redis.UniversalClient, o sim.Object) sim.Counter {
				return naive.Counter{Redis: rdb, Name: o.Name}
			}
			s.Prepare = func(ctx context.Context, rdb redis.UniversalClient, o sim.Object) error {
				return rdb.Set(ctx, o.Name, o.N, 0).Err()
			}
		}},
		{"a latch that counts again what it does not know", sim.Latch, "early latch", func(s *sim.Suite) {
			s.Latch = func(rdb redis.UniversalClient, o sim.Object) sim.Barrier {
				return naive.Barrier{Redis: rdb, Name: o.Name}
			}
			s.Prepare = func(ctx context.Context, rdb redis.UniversalClient, o sim.Object) error {
				return rdb.Set(ctx, o.Name, o.N, 0).Err()
			}
		}},
		{"a guard that looks before it writes", sim.Fenced, "data", func(s *sim.Suite) {
			*s = sim.Library
			s.Guard = func(rdb redis.UniversalClient, o sim.Object) sim.Guard {
				return naive.Guard{Redis: rdb, Name: o.Name}
			}
		}},
		{"a guard that asks nothing", sim.Fenced, "stale write", func(s *sim.Suite) {
			*s = sim.Library
			s.Guard = func(rdb redis.UniversalClient, o sim.Object) sim.Guard {
				return careless{naive.Guard{Redis: rdb, Name: o.Name}}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			suite := naive.Suite()
			c.suite(&suite)
			start := time.Now()
			for seed := range uint64(400) {
				p := sim.Draw(seed)
				if !of(&p, c.kind) {
					continue
				}
				result := inBubble(t, p, suite)
				for _, b := range result.Broken {
					t.Fatalf("seed %d: broken: %s", seed, b)
				}
				agree(t, p, result, false)
				if slices.Contains(result.Convicts(), c.check) {
					t.Logf("seed %d, after %v: %v", seed, time.Since(start), result.Report.Findings[0])
					return
				}
			}
			t.Error("it is acquitted")
		})
	}
}

// careless believes every token.
type careless struct{ naive.Guard }

func (c careless) For(h redlatch.Fenced) sim.Writer {
	return carelessWriter{naive.Writer{Guard: c.Guard, Token: h.Token()}}
}

type carelessWriter struct{ naive.Writer }

func (carelessWriter) Claim(context.Context) error { return nil }

func (w carelessWriter) Do(ctx context.Context, command, key string, args ...any) error {
	err := w.Redis.Do(ctx, append([]any{command, key}, args...)...).Err()
	if err != nil {
		return redlatch.ErrUncertain
	}
	return nil
}

// of leaves in a plan what it does with one kind of object, and tells whether there is anything.
func of(p *sim.Plan, kind sim.Kind) (some bool) {
	for i := range p.Clients {
		for j, steps := range p.Clients[i].Workers {
			p.Clients[i].Workers[j] = slices.DeleteFunc(steps, func(s sim.Step) bool { return p.Objects[s.Object].Kind != kind })
			some = some || len(p.Clients[i].Workers[j]) > 0
		}
	}
	return some
}
