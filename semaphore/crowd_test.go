package semaphore_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

const crowd = 40 // processes that wait

// A release must not cost more, the more processes wait.
func TestAReleaseWakesOneProcess(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		warm(t, srv)
		key, giver := srv.Key(t, "s"), srv.Client(t)
		set(t, giver, key, 0)
		served := make(chan error, crowd)
		for range crowd {
			s := semaphore.New(srv.Client(t), key, redlatch.WithPoll(long))
			go func() { served <- s.Acquire(t.Context(), 1) }()
		}
		eventually(t, "all stand in the row", func() bool {
			return giver.ZCard(t.Context(), "redlatch_semaphore_row:{"+key+"}").Val() == crowd
		})
		before, s := srv.Scripts(t), semaphore.New(giver, key)
		for range crowd {
			require.NoError(t, s.Release(t.Context(), 1))
			require.NoError(t, <-served)
		}
		require.LessOrEqual(t, srv.Scripts(t)-before, int64(8*crowd), "scripts for so many releases")
		require.Equal(t, "0", value(t, giver, key))
	})
}

// A raise by many permits wakes as many processes, one after the other, although the raising process sends one message.
func TestARaiseByManyReachesAllProcesses(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		key, giver := srv.Key(t, "s"), srv.Client(t)
		set(t, giver, key, 0)
		served := make(chan error, crowd)
		for i := range crowd {
			s := semaphore.New(srv.Client(t), key, redlatch.WithPoll(long))
			go func() { served <- s.Acquire(t.Context(), int64(1+i%3)) }()
		}
		eventually(t, "all stand in the row", func() bool {
			return giver.ZCard(t.Context(), "redlatch_semaphore_row:{"+key+"}").Val() == crowd
		})
		_, err := semaphore.New(giver, key).AddPermits(t.Context(), 2*crowd)
		require.NoError(t, err)
		for range crowd {
			require.NoError(t, <-served)
		}
	})
}

// A listener that is not of this library hears of every raise, as it would among Redisson's clients alone.
func TestAListenerOfRedissonsHearsOfEveryRaise(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		key, giver := srv.Key(t, "s"), srv.Client(t)
		set(t, giver, key, 0)
		channel := "redisson_sc:{" + key + "}"
		foreign := giver.Subscribe(t.Context(), channel)
		t.Cleanup(func() { _ = foreign.Close() })
		_, err := foreign.ReceiveTimeout(t.Context(), 30*time.Second)
		require.NoError(t, err)
		waiter := semaphore.New(srv.Client(t), key, redlatch.WithPoll(long))
		releaser := semaphore.New(giver, key)
		for range 3 {
			served := make(chan error, 1)
			go func() { served <- waiter.Acquire(t.Context(), 1) }()
			eventually(t, "it stands in the row", func() bool {
				return giver.ZCard(t.Context(), "redlatch_semaphore_row:{"+key+"}").Val() == 1
			})
			require.NoError(t, releaser.Release(t.Context(), 1))
			require.NoError(t, <-served)
			message, err := foreign.ReceiveMessage(t.Context())
			require.NoError(t, err)
			require.Equal(t, "01", message.Payload, "one, and those who stand in the row leave it alone")
			require.NoError(t, giver.Publish(t.Context(), channel, "1").Err(), "as Redisson would") // no waiter is left that it could wake
			_, err = foreign.ReceiveMessage(t.Context())
			require.NoError(t, err)
		}
	})
}

// Waits end at any moment: before they are in the process queue, in it, and when they have been told. No message is lost
// here, so no process has to poll.
func TestInACrowdThatComesAndGoesNoProcessHasToPoll(t *testing.T) {
	for seed := range uint64(8) {
		redistest.Bubble(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			m, first := redistest.InMemory(t)
			_, err := semaphore.New(first, "s").TrySetPermits(t.Context(), 2)
			require.NoError(t, err)
			var all sync.WaitGroup
			var served atomic.Int64
			for range 8 {
				client := redis.NewClient(redistest.InMemoryOptions(m))
				t.Cleanup(func() { _ = client.Close() })
				client.AddHook(&traffic{}) // scripts take a millisecond to reach the server
				s := semaphore.New(client, "s", briefly.Linger(time.Second), redlatch.WithPoll(long))
				for range 2 {
					pace := rand.New(rand.NewPCG(seed, random.Uint64()))
					all.Go(func() {
						for range 30 {
							ctx, cancel := t.Context(), context.CancelFunc(func() {})
							if pace.IntN(3) > 0 {
								ctx, cancel = context.WithTimeout(ctx, time.Duration(pace.IntN(8000))*time.Microsecond)
							}
							n := 1 + pace.Int64N(2)
							if s.Acquire(ctx, n) == nil {
								served.Add(1)
								time.Sleep(time.Duration(pace.IntN(2000)) * time.Microsecond)
								require.NoError(t, s.Release(t.Context(), n))
							}
							cancel()
							time.Sleep(time.Duration(pace.IntN(1000)) * time.Microsecond)
						}
					})
				}
			}
			start := time.Now()
			all.Wait()
			require.Less(t, time.Since(start), long/2, "seed %d: somebody was told too late", seed)
			require.Greater(t, served.Load(), int64(100))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Equal(t, "2", first.Get(t.Context(), "s").Val(), "seed %d", seed)
		})
	}
}

// BenchmarkProcesses has 200 processes take turns at four permits, for a millisecond each.
func BenchmarkProcesses(b *testing.B) {
	srv := redistest.Process(b)
	set(b, srv.Client(b), "s", 4)
	turns := make([]func(context.Context) error, 200)
	for i := range turns {
		s := semaphore.New(srv.Client(b), "s")
		turns[i] = func(ctx context.Context) error {
			return s.Do(ctx, 1, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
		}
	}
	srv.MeasureTurns(b.Context(), b, turns)
}

func TestAProcessInTheQueueIgnoresMessagesForOthers(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		got := b.acquire(b.Context(), "a", 1)
		for message, asks := range map[string]int{"01": 0, "1": 1} {
			b.traffic.since()
			require.NoError(b, b.redis.Publish(b.Context(), "redisson_sc:{s}", message).Err())
			b.settle()
			sent, _ := b.traffic.since()
			require.Equal(b, asks, sent, message)
		}
		require.NoError(b, b.other.Release(b.Context(), 1))
		require.NoError(b, <-got)
	})
}
