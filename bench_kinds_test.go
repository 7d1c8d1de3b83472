package redlatch_test

// The benchmarks of bench_test.go for the other kinds, for crowds of several processes, and for what an option costs.

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
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

// BenchmarkFairAlone compares a pair of Lock and Unlock of an uncontended fair lock with two bare commands.
func BenchmarkFairAlone(b *testing.B) {
	s := newStage(b)
	lock := fairlock.New(s.client, s.srv.Key(b, "own"))
	bare := s.bare(s.srv.Key(b, "bare"))
	ctx := b.Context()
	s.compare(b, 1, func(int) { lockPair(ctx, b, lock) }, func(int) { bare.pair(ctx) })
}

// A fair lock that many want at once, from ten clients: what a turn costs the server, in microseconds of its time.
//
//	go test -run '^$' -bench FairCrowd -benchtime 2000x .
func BenchmarkFairCrowd(b *testing.B) {
	for _, callers := range []int{10, 100, 1000, 4000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			srv := redistest.Process(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var locks []*fairlock.Lock
			for range 10 {
				locks = append(locks, fairlock.New(srv.Client(b), "f"))
			}
			first, err := locks[0].Lock(ctx)
			require.NoError(b, err)
			var (
				all    sync.WaitGroup
				served atomic.Int64
				over   = make(chan struct{})
			)
			for n := range callers {
				all.Go(func() {
					for {
						hold, err := locks[n%len(locks)].Lock(ctx)
						if err != nil {
							return
						}
						turn := served.Add(1)
						if turn == int64(b.N) {
							close(over)
						}
						if hold.Unlock(context.Background()) != nil || turn >= int64(b.N) {
							return
						}
					}
				})
			}
			client := srv.Client(b)
			redistest.Eventually(b, "everybody to wait", func() bool {
				return client.LLen(b.Context(), keys.FairQueue("f")).Val() == int64(callers)
			})
			spent := func() (us, calls float64) {
				text := client.Info(b.Context(), "commandstats").Val()
				for _, found := range spentOnScripts.FindAllStringSubmatch(text, -1) {
					n, _ := strconv.ParseFloat(found[1], 64)
					t, _ := strconv.ParseFloat(found[2], 64)
					us, calls = us+t, calls+n
				}
				return us, calls
			}
			us, calls := spent()
			b.ResetTimer()
			require.NoError(b, first.Unlock(ctx))
			<-over
			b.StopTimer()
			moreUs, moreCalls := spent()
			b.ReportMetric((moreUs-us)/float64(b.N), "server-us/turn")
			b.ReportMetric((moreCalls-calls)/float64(b.N), "scripts/turn")
			cancel()
			all.Wait()
		})
	}
}

var spentOnScripts = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)`)

// BenchmarkLone has one caller take a lock that nobody else wants, of the kinds that have no benchmark of their own.
func BenchmarkLone(b *testing.B) {
	for name, make := range map[string]func(s *stage, key string) redlatch.Locker{
		"fencedlock": func(s *stage, key string) redlatch.Locker { return fencedlock.New(s.client, key) },
		"spinlock":   func(s *stage, key string) redlatch.Locker { return spinlock.New(s.client, key) },
	} {
		b.Run(name, func(b *testing.B) {
			s := newStage(b)
			ctx := b.Context()
			lock := make(s, s.srv.Key(b, "own"))
			bare := s.bare(s.srv.Key(b, "bare"))
			s.compare(b, 1, func(int) { lockPair(ctx, b, lock) }, func(int) { bare.pair(ctx) })
		})
	}
}

// BenchmarkReadWrite has one caller take a side that nobody else wants.
func BenchmarkReadWrite(b *testing.B) {
	sides := map[string]func(*rwlock.Lock) *rwlock.Side{"read": (*rwlock.Lock).Reader, "write": (*rwlock.Lock).Writer}
	for name, of := range sides {
		b.Run(name, func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			side := of(rwlock.New(s.client, s.srv.Key(b, "own")))
			bare := s.bare(s.srv.Key(b, "bare"))
			s.compare(b, 1, func(int) { lockPair(ctx, b, side) }, func(int) { bare.pair(ctx) })
		})
	}
}

// BenchmarkLongTimes shows what an rlock pays for being told of long waits or long holds, none of which comes. Its floor is the same
// lock without the option. With one caller a pair is two commands; with 16 nearly all holds are handed on without one.
func BenchmarkLongTimes(b *testing.B) {
	for name, option := range map[string]redlatch.Option{
		"SlowWait": redlatch.WithSlowWait(time.Hour), "LongHold": redlatch.WithLongHold(time.Hour),
	} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", name, callers), func(b *testing.B) {
				s := newStage(b)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				logger := redlatch.WithLogger(slog.New(slog.DiscardHandler))
				with, without := rlock.New(s.client, s.srv.Key(b, "with"), logger, option), rlock.New(s.client, s.srv.Key(b, "without"), logger)
				if callers > 1 {
					s.block = 2000 // a block begins with everybody asking
				}
				s.compare(b, callers, func(int) { lockPair(ctx, b, with) }, func(int) { lockPair(ctx, b, without) })
			})
		}
	}
}

// BenchmarkRegistry shows what an rlock pays for the registry where everything is given back within a second. Its floor is the same lock in
// a client that is not listed. With one caller a pair is two commands; with 16 nearly all holds are handed on without one.
func BenchmarkRegistry(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := newStage(b)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.Setenv("REDLATCH_REGISTRY", "on")
			with := rlock.New(s.client, s.srv.Key(b, "with"))
			lockPair(ctx, b, with) // the variable is read when a client is first used
			b.Setenv("REDLATCH_REGISTRY", "off")
			without := rlock.New(s.srv.Client(b), s.srv.Key(b, "without"))
			lockPair(ctx, b, without)
			if callers > 1 {
				s.block = 2000 // a block begins with everybody asking
			}
			s.compare(b, callers, func(int) { lockPair(ctx, b, with) }, func(int) { lockPair(ctx, b, without) })
		})
	}
}
