package semaphore_test

import (
	"context"
	"regexp"
	"runtime"
	"slices"
	"strings"
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

// The server's memory of what a process did is one key beside the semaphore, as large as the process was busy, and it
// ends two and a half minutes after the last operation.
func TestTheMemoryBesideTheSemaphoreStaysSmallAndEnds(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		ctx, client, key := t.Context(), srv.Client(t), srv.Key(t, "s")
		s := semaphore.New(client, key, briefly.Linger(0))
		_, err := s.TrySetPermits(ctx, 4)
		require.NoError(t, err)
		for range 3 {
			var work sync.WaitGroup
			for range 8 {
				work.Go(func() {
					for range 20 {
						if err := s.Do(ctx, 1, func(context.Context) error { return nil }); err != nil {
							t.Error(err)
						}
					}
				})
			}
			work.Wait()
			lanes := lanesOf(t, srv, key)
			require.Len(t, lanes, 1)
			require.LessOrEqual(t, client.HLen(ctx, lanes[0]).Val(), int64(8), "a lane for each of those who were busy at the same time")
			ttl := client.PTTL(ctx, lanes[0]).Val()
			require.Greater(t, ttl, time.Minute)
			require.LessOrEqual(t, ttl, 150*time.Second)
		}
		require.Len(t, srv.Keys(t), 2)
		eventually(t, "nobody is subscribed", func() bool { return subscribers(t, client, key) == 0 })
	})
}

// With a linger of 0 nothing is left after the last wait: no goroutine here, and no subscription at the server.
func TestNothingRunsAfterTheLastWaiter(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		_, client := redistest.InMemory(t)
		s := semaphore.New(client, "s", briefly.Linger(0))
		_, err := s.TrySetPermits(t.Context(), 1)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, s.Acquire(t.Context(), 1))
			require.ErrorIs(t, s.Acquire(t.Context(), 1, redlatch.WithWait(10*time.Second)), redlatch.ErrNotAcquired)
			waited := make(chan error, 1)
			go func() { waited <- s.Acquire(t.Context(), 1) }()
			time.Sleep(time.Second)
			require.NotEmpty(t, engines())
			require.NoError(t, s.Release(t.Context(), 1))
			require.NoError(t, <-waited)
			require.NoError(t, s.Release(t.Context(), 1))
			time.Sleep(time.Second)
			synctest.Wait()
			require.Empty(t, client.PubSubChannels(t.Context(), "*").Val())
			require.Empty(t, engines())
		}
	})
}

// bubbleName is how the runtime marks the goroutines of one bubble.
var bubbleName = regexp.MustCompile(`synctest bubble \d+`)

// engines are the goroutines of the caller's bubble that run this module's engines.
func engines() []string {
	buffer := make([]byte, 4<<20)
	stacks := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	mine := bubbleName.FindString(stacks[0]) // the caller comes first
	return slices.DeleteFunc(stacks, func(stack string) bool {
		return bubbleName.FindString(stack) != mine || !engine.MatchString(stack)
	})
}

var engine = regexp.MustCompile(`redlatch/internal/(dispatch|wakeup|waiting|counter|session)\.`)

// Redisson names the keys beside n and {n} alike. What the server remembers of the operations on the one must not be taken
// for what it remembers of the other.
func TestSemaphoresOfSimilarNamesDoNotDisturbEachOther(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		names, errs := []string{"n", "{n}"}, make(chan error)
		for _, name := range names {
			s := semaphore.New(b.redis, name, briefly.Linger(0))
			for range 10 {
				go func() { errs <- s.Release(b.Context(), 1) }()
			}
		}
		for range 20 {
			require.NoError(b, <-errs)
		}
		for _, name := range names {
			require.Equal(b, "10", b.redis.Get(b.Context(), name).Val())
		}
	})
}

// A call's own options win over those of New, as with locks.
func TestAnObserverGivenToACallIsToldOfIt(t *testing.T) {
	inBubble(t, 1, func(b *bubble) {
		var usual, own []redlatch.Event
		s := semaphore.New(b.redis, "s", briefly.Linger(0), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) { usual = append(usual, e) })))
		observed := redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind != redlatch.EventWaiting {
				own = append(own, e)
			}
		}))
		require.NoError(b, s.Acquire(b.Context(), 1, observed))
		refused := s.Acquire(b.Context(), 1, observed, redlatch.WithWait(time.Second))
		require.Error(b, refused)
		require.Equal(b, []redlatch.Event{
			{Kind: redlatch.EventAcquired, Primitive: "semaphore", Name: "s", Permits: 1, Outcome: redlatch.OutcomeAcquired, Path: redlatch.PathFresh},
			{
				Kind: redlatch.EventRefused, Primitive: "semaphore", Name: "s", Permits: 1, Outcome: redlatch.OutcomeTimeout, Err: refused, Duration: time.Second,
			},
		}, own)
		require.Empty(b, usual)
	})
}

func TestAnOutageGivenToTrySetPermitsCounts(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		server := &loading{}
		b.client.AddHook(server)
		server.down.Store(true)
		start := time.Now()
		_, err := semaphore.New(b.client, "s", briefly.Linger(0)).TrySetPermits(b.Context(), 1, redlatch.WithOutage(time.Second))
		require.ErrorContains(b, err, "LOADING")
		require.Less(b, time.Since(start), 2*time.Second)
	})
}

func TestTheObserverIsToldOfATryThatIsRefusedForThoseWhoWait(t *testing.T) {
	inBubble(t, 1, func(b *bubble) {
		var events []redlatch.Event
		s := semaphore.New(b.redis, "s", briefly.Linger(0), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventRefused {
				events = append(events, e)
			}
		})))
		waits, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Acquire(waits, 2) }()
		synctest.Wait()
		err := s.TryAcquire(b.Context(), 1)
		require.Len(b, events, 1)
		why := events[0].Err
		require.Equal(b, why, err)
		require.Equal(b, redlatch.Event{Kind: redlatch.EventRefused, Primitive: "semaphore", Name: "s", Permits: 1, Outcome: redlatch.OutcomeBusy, Err: why}, events[0])
		require.ErrorIs(b, why, redlatch.ErrNotAcquired)
		require.EqualError(b, why, `redlatch: not acquired: semaphore "s" is waited for by others of this process`)
		over, stop := context.WithCancel(b.Context())
		stop()
		err = s.TryAcquire(over, 1)
		require.ErrorIs(b, err, context.Canceled)
		require.ErrorContains(b, err, `semaphore "s"`)
		require.Equal(b, redlatch.Event{Kind: redlatch.EventRefused, Primitive: "semaphore", Name: "s", Permits: 1, Outcome: redlatch.OutcomeCanceled, Err: err}, events[1])
		cancel()
		require.ErrorIs(b, <-ended, context.Canceled)
	})
}

// loading is a hook of a client. When it is armed, the server begins to load its data after the next script,
// and executes none until it is done.
type loading struct {
	armed, down atomic.Bool
	then        func() // when it begins
}

func (*loading) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *loading) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if l.down.Load() {
			cmd.SetErr(errLoading{})
			return cmd.Err()
		}
		err := next(ctx, cmd)
		if cmd.Name() == "evalsha" && l.armed.Swap(false) {
			l.down.Store(true)
			l.then()
		}
		return err
	}
}

func (*loading) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type errLoading struct{}

func (errLoading) Error() string { return "LOADING Redis is loading the dataset in memory" }
func (errLoading) RedisError()   {}
