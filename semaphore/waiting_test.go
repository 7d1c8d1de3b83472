package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// traffic is a hook of a client that counts its scripts: how many, and how many at the same time. Every script takes
// a millisecond of fake time, so that those that overlap are seen to.
type traffic struct {
	mu                sync.Mutex
	sent, now, atOnce int
}

func (*traffic) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *traffic) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd)
		}
		defer c.begin(1)()
		return next(ctx, cmd)
	}
}

func (c *traffic) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n := 0
		for _, cmd := range cmds {
			if strings.HasPrefix(cmd.Name(), "eval") {
				n++
			}
		}
		defer c.begin(n)()
		return next(ctx, cmds)
	}
}

func (c *traffic) begin(n int) (end func()) {
	c.mu.Lock()
	c.sent += n
	c.now += n
	c.atOnce = max(c.atOnce, c.now)
	c.mu.Unlock()
	time.Sleep(time.Millisecond)
	return func() {
		c.mu.Lock()
		c.now -= n
		c.mu.Unlock()
	}
}

// since returns what was sent, and how much at the same time, since the last call.
func (c *traffic) since() (sent, atOnce int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, atOnce = c.sent, c.atOnce
	c.sent, c.atOnce = 0, c.now
	return sent, atOnce
}

// A bubble is a semaphore on fake time, and another process that shares it.
type bubble struct {
	*testing.T
	s       *semaphore.Semaphore
	client  *redis.Client // of s
	traffic *traffic
	other   *semaphore.Semaphore // of another client
	redis   *redis.Client        // the other client
	start   time.Time
	mu      sync.Mutex
	served  []string
}

const poll = 3 * time.Second

func inBubble(t *testing.T, permits int64, test func(b *bubble)) {
	t.Helper()
	redistest.Bubble(t, func(t *testing.T) {
		m, client := redistest.InMemory(t)
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		b := &bubble{T: t, client: client, traffic: &traffic{}, redis: other}
		b.s = semaphore.New(client, "s", briefly.Linger(0), redlatch.WithPoll(poll))
		b.other = semaphore.New(other, "s", briefly.Linger(0))
		warmAcquire(t, client)
		client.AddHook(b.traffic)
		_, err := b.other.TrySetPermits(t.Context(), permits)
		require.NoError(t, err)
		b.start = time.Now()
		test(b)
		time.Sleep(10 * time.Millisecond) // what a wait that has ended leaves behind is done by then
	})
}

// warmAcquire makes the script known, so that every attempt is one command.
func warmAcquire(t *testing.T, client *redis.Client) {
	t.Helper()
	require.ErrorIs(t, semaphore.New(client, "warm", briefly.Linger(0)).TryAcquire(t.Context(), 1), redlatch.ErrNotAcquired)
}

// acquire waits for n permits as who, in line when it returns.
func (b *bubble) acquire(ctx context.Context, who string, n int64, opts ...redlatch.Option) <-chan error {
	b.Helper()
	result := make(chan error, 1)
	go func() {
		err := b.s.Acquire(ctx, n, opts...)
		if err == nil {
			b.mu.Lock()
			b.served = append(b.served, who)
			b.mu.Unlock()
		}
		result <- err
	}()
	b.settle()
	return result
}

// settle lets everything happen that takes less than a poll: a few milliseconds for scripts.
func (b *bubble) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func (b *bubble) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.served...)
}

// Two processes want more permits than there are, and so many that their places in the row do not say how many.
func TestThoseWhoWantTooManyAskOncePerPoll(t *testing.T) {
	inBubble(t, 1100, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.Context())
		got := b.acquire(ctx, "large", 1200)
		theirs := make(chan error, 1)
		go func() { theirs <- b.other.Acquire(ctx, 1300, redlatch.WithPoll(poll)) }()
		b.settle()
		b.traffic.since()
		const polls = 3
		time.Sleep(polls * poll)
		sent, _ := b.traffic.since()
		require.LessOrEqual(b, sent, 4*polls, "each may hear of the question of the other")
		require.NoError(b, b.other.Release(b.Context(), 100))
		b.settle()
		require.Equal(b, []string{"large"}, b.order())
		require.NoError(b, <-got)
		cancel()
		require.ErrorIs(b, <-theirs, context.Canceled)
	})
}

func TestEveryOtherRaiseReachesAWaiterByMessage(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		mine, theirs, key := srv.Client(t), srv.Client(t), srv.Key(t, "s")
		raises := map[string]func(s *semaphore.Semaphore) error{
			"release if exists": func(s *semaphore.Semaphore) error {
				_, err := s.ReleaseIfExists(t.Context(), 1)
				return err
			},
			"add": func(s *semaphore.Semaphore) error { _, err := s.AddPermits(t.Context(), 1); return err },
			"set": func(s *semaphore.Semaphore) error {
				theirs.Del(t.Context(), key)
				_, err := s.TrySetPermits(t.Context(), 1)
				return err
			},
		}
		for name, raise := range raises {
			t.Run(name, func(t *testing.T) {
				set(t, theirs, key, 0)
				result := make(chan error, 1)
				go func() {
					result <- semaphore.New(mine, key, briefly.Linger(0), redlatch.WithPoll(long)).Acquire(t.Context(), 1)
				}()
				eventually(t, "the waiter has subscribed", func() bool { return subscribers(t, theirs, key) == 1 })
				require.NoError(t, raise(semaphore.New(theirs, key, briefly.Linger(0))))
				select {
				case err := <-result:
					require.NoError(t, err)
				case <-time.After(30 * time.Second):
					t.Fatal("no message woke the waiter")
				}
				require.Equal(t, "0", value(t, theirs, key))
				eventually(t, "nobody is subscribed", func() bool { return subscribers(t, theirs, key) == 0 })
			})
		}
	})
}

// A waiter of Redisson's format: the message of a foreign program is as good as ours.
func TestAForeignMessageWakes(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		result := b.acquire(b.Context(), "a", 1)
		require.NoError(b, b.redis.IncrBy(b.Context(), "s", 1).Err())
		require.NoError(b, b.redis.Publish(b.Context(), "redisson_sc:{s}", "1").Err())
		b.settle()
		require.NoError(b, <-result)
		require.Less(b, time.Since(b.start), time.Second)
	})
}

func TestAfterAReleaseOfSeveralEveryoneWhoFitsProceedsWithOneAttempt(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		var results []<-chan error
		for i := range 6 {
			results = append(results, b.acquire(b.Context(), fmt.Sprint(i), 1))
		}
		b.traffic.since()
		require.NoError(b, b.other.Release(b.Context(), 4))
		b.settle()
		require.ElementsMatch(b, []string{"0", "1", "2", "3"}, b.order(), "those who came first")
		sent, _ := b.traffic.since()
		require.Equal(b, 2, sent, "one for all of them, and one that stands in the process queue for the others")

		require.NoError(b, b.other.Release(b.Context(), 2))
		b.settle()
		require.ElementsMatch(b, []string{"4", "5"}, b.order()[4:])
		require.Less(b, time.Since(b.start), poll, "by messages, not by polling")
		for _, result := range results {
			require.NoError(b, <-result)
		}
	})
}

func TestAnIdleLineAsksOncePerPollHoweverManyWait(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.Context())
		for i := range 20 {
			b.acquire(ctx, fmt.Sprint(i), 1)
		}
		b.traffic.since()
		time.Sleep(30 * poll)
		sent, atOnce := b.traffic.since()
		require.Equal(b, 1, atOnce)
		require.GreaterOrEqual(b, sent, 30)
		require.LessOrEqual(b, sent, 34, "the poll is shortened by up to a tenth")
		cancel()
		b.settle()
	})
}

func TestALargeWaiterIsNotOvertaken(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		large := b.acquire(b.Context(), "large", 5)
		small := b.acquire(b.Context(), "small", 1)
		require.NoError(b, b.other.Release(b.Context(), 4))
		b.settle()
		time.Sleep(3 * poll)
		require.Empty(b, b.order())
		require.ErrorIs(b, b.s.TryAcquire(b.Context(), 1), redlatch.ErrNotAcquired, "a try overtakes those who wait")
		late := b.acquire(b.Context(), "late", 1)
		require.Empty(b, b.order())
		require.NoError(b, b.other.Release(b.Context(), 3))
		b.settle()
		require.ElementsMatch(b, []string{"large", "small", "late"}, b.order())
		require.NoError(b, <-large)
		require.NoError(b, <-small)
		require.NoError(b, <-late)
	})
}

// The head wanted more than there is; whoever comes after it wants less.
func TestWhenALargeWaiterLeavesThoseBehindItProceedAtOnce(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.Context())
		large := b.acquire(ctx, "large", 5)
		small := b.acquire(b.Context(), "small", 1)
		require.NoError(b, b.other.Release(b.Context(), 2))
		b.settle()
		require.Empty(b, b.order())
		left := time.Now()
		cancel()
		require.ErrorIs(b, <-large, context.Canceled)
		require.NoError(b, <-small)
		require.Less(b, time.Since(left), 50*time.Millisecond, "it waited for the poll")
	})
}

func TestAWaiterThatLeavesInTheMiddleOfTheLineCostsNoCommand(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.Context())
		over, end := context.WithCancel(b.Context())
		b.acquire(over, "head", 1)
		middle := b.acquire(ctx, "middle", 1)
		b.traffic.since()
		cancel()
		require.ErrorIs(b, <-middle, context.Canceled)
		b.settle()
		sent, _ := b.traffic.since()
		require.Zero(b, sent)
		end()
		b.settle()
	})
}

func TestATryWhoseContextHasEndedHasNotAsked(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		cause := errors.New("the shop is closing")
		ctx, cancel := context.WithCancelCause(b.Context())
		cancel(cause)
		try := b.s.TryAcquire(ctx, 1)
		require.NotErrorIs(b, try, redlatch.ErrNotAcquired)
		require.ErrorIs(b, try, context.Canceled)
		require.ErrorIs(b, try, cause)
	})
}

func TestADeletedSemaphoreKeepsItsWaitersUntilItIsSetUpAgain(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		result := b.acquire(b.Context(), "a", 1)
		_, err := b.other.Delete(b.Context())
		require.NoError(b, err)
		time.Sleep(3 * poll)
		require.Empty(b, b.order())
		set := time.Now()
		_, err = b.other.TrySetPermits(b.Context(), 1)
		require.NoError(b, err)
		require.NoError(b, <-result)
		require.Less(b, time.Since(set), 50*time.Millisecond)
	})
}
