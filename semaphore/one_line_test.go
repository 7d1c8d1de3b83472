package semaphore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/semaphore"
)

// The semaphore goes while a call that knows its size waits behind one that does not.
func TestASizedWaiterBehindAnUnsizedHeadSetsUpASemaphoreThatIsGone(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		ctx, cancel := context.WithTimeout(b.Context(), 10*poll)
		defer cancel()
		unsized := b.acquire(ctx, "unsized", 1)
		s := semaphore.New(b.client, "s", briefly.Linger(0), redlatch.WithPoll(poll), semaphore.WithPermits(3))
		sized := make(chan error, 1)
		go func() { sized <- s.Acquire(ctx, 1) }()
		b.settle()
		_, err := b.other.Delete(b.Context())
		require.NoError(b, err)
		e := <-sized
		b.settle()
		u := <-unsized
		require.NoError(b, e)
		require.NoError(b, u)
	})
}

// TryAcquire of one that knows the size, while one that does not waits.
func TestATryThatKnowsTheSizeSetsUpInFrontOfWaiters(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		_, err := b.other.Delete(b.Context())
		require.NoError(b, err)
		ctx, cancel := context.WithTimeout(b.Context(), 10*poll)
		defer cancel()
		b.acquire(ctx, "unsized", 1)
		s := semaphore.New(b.client, "s", briefly.Linger(0), redlatch.WithPoll(poll), semaphore.WithPermits(3))
		e := s.TryAcquire(ctx, 1)
		cancel()
		b.settle()
		require.NoError(b, e)
	})
}

// hiccup is a hook of a client. Armed, it has the first script refused, the second pass, and the third take long.
type hiccup struct{ n atomic.Int64 }

func (*hiccup) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *hiccup) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && h.n.Load() > 0 {
			switch h.n.Add(1) {
			case 2:
				cmd.SetErr(errLoading{})
				return cmd.Err()
			case 4:
				time.Sleep(50 * time.Millisecond)
			}
		}
		return next(ctx, cmd)
	}
}
func (*hiccup) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestAFailureThatIsOverIsNotToldAfterASuccess(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		h := &hiccup{}
		b.client.AddHook(h)
		ctx, cancel := context.WithCancel(b.Context())
		first := b.acquire(ctx, "first", 1)
		b.acquire(ctx, "second", 2)
		h.n.Store(1)
		require.NoError(b, b.other.Release(b.Context(), 1))
		require.NoError(b, <-first)
		time.Sleep(5 * time.Millisecond)
		e := b.s.TryAcquire(ctx, 1)
		cancel()
		b.settle()
		require.ErrorIs(b, e, redlatch.ErrNotAcquired)
	})
}

// Many Semaphores of one name.
func TestSemaphoresOfOneNameAreServedTogether(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		const waiters = 100
		for i := range waiters {
			b.s = semaphore.New(b.client, "s", briefly.Linger(0), redlatch.WithPoll(poll))
			b.acquire(b.Context(), fmt.Sprint(i), 1)
		}
		b.traffic.since()
		require.NoError(b, b.other.Release(b.Context(), waiters))
		b.settle()
		b.settle()
		require.Len(b, b.order(), waiters)
		sent, _ := b.traffic.since()
		require.LessOrEqual(b, sent, 5)
	})
}

func TestWhereOutsidersListenNothingIsTakenToBeGivenBack(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		sub := b.redis.Subscribe(b.Context(), "redisson_sc:{s}")
		defer func() { _ = sub.Close() }()
		_, err := sub.Receive(b.Context())
		require.NoError(b, err)
		const waiters = 50
		for i := range waiters {
			b.acquire(b.Context(), fmt.Sprint(i), 1)
		}
		b.traffic.since()
		require.NoError(b, b.s.Release(b.Context(), 1))
		time.Sleep(10 * time.Millisecond)
		b.traffic.since()
		require.NoError(b, b.other.Release(b.Context(), waiters-1))
		for len(b.order()) < waiters {
			time.Sleep(time.Millisecond)
		}
		b.settle()
		sent, _ := b.traffic.since()
		require.LessOrEqual(b, sent, waiters, "one for each")
		require.Equal(b, "0", value(b.T, b.redis, "s"))
	})
}

// One of three that want the same is cancelled at every quarter of a millisecond around the attempt that takes for all.
func TestAWaiterOfSeveralThatWantTheSameLosesNoPermitAndNoWakeUp(t *testing.T) {
	for who := range 3 {
		for at := -2 * time.Millisecond; at <= 6*time.Millisecond; at += 250 * time.Microsecond {
			t.Run(fmt.Sprint(who, " ", at), func(t *testing.T) {
				inBubble(t, 0, func(b *bubble) {
					ctx, cancel := context.WithCancel(b.Context())
					defer cancel()
					var results []<-chan error
					for i := range 3 {
						mine := b.Context()
						if i == who {
							mine = ctx
						}
						results = append(results, b.acquire(mine, fmt.Sprint(i), 2))
					}
					release := time.Now().Add(5 * time.Millisecond)
					time.AfterFunc(time.Until(release)+at, cancel)
					time.Sleep(time.Until(release))
					require.NoError(b, b.other.Release(b.Context(), 6))
					left := 0
					for i, result := range results {
						if err := <-result; err != nil {
							require.Equal(b, who, i, "only one was cancelled: %v", err)
							left = 2
						}
					}
					require.Less(b, time.Since(release), 100*time.Millisecond, "one waited for the poll")
					b.settle()
					require.Equal(b, fmt.Sprint(left), value(b.T, b.redis, "s"), "what no call has is there")
				})
			})
		}
	}
}
