package semaphore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/semaphore"
)

func TestAReleaseOfManyPermitsCostsOneAttemptForManyWaiters(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		const waiters = 100
		for i := range waiters {
			b.acquire(b.Context(), fmt.Sprint(i), 1)
		}
		b.traffic.since()
		require.NoError(b, b.other.Release(b.Context(), waiters))
		b.settle()
		require.Len(b, b.order(), waiters)
		sent, atOnce := b.traffic.since()
		require.Equal(b, 1, atOnce)
		require.Equal(b, 1, sent)
		require.Equal(b, "0", value(b.T, b.redis, "s"))
	})
}

func TestAWaiterThatIsRefusedIsNotOvertakenAndAsksNoMoreThanOnAPoll(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		b.acquire(b.Context(), "first", 1)
		large := b.acquire(b.Context(), "large", 3)
		b.acquire(b.Context(), "small", 1)
		b.traffic.since()
		require.NoError(b, b.other.Release(b.Context(), 3))
		b.settle()
		require.Equal(b, []string{"first"}, b.order())
		sent, _ := b.traffic.since()
		require.Equal(b, 2, sent, "one for each")
		require.NoError(b, b.other.Release(b.Context(), 1))
		require.NoError(b, <-large)
		require.NoError(b, b.other.Release(b.Context(), 1))
		b.settle()
		require.Equal(b, []string{"first", "large", "small"}, b.order())
	})
}

// The large one is refused. It leaves at every quarter of a millisecond around that, and the small one behind
// it must not wait for the poll.
func TestWhenAWaiterThatIsRefusedLeavesThoseBehindItProceedAtOnce(t *testing.T) {
	for at := -2 * time.Millisecond; at <= 6*time.Millisecond; at += 250 * time.Microsecond {
		t.Run(at.String(), func(t *testing.T) {
			inBubble(t, 0, func(b *bubble) {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				first := b.acquire(b.Context(), "first", 1)
				large := b.acquire(ctx, "large", 5)
				small := b.acquire(b.Context(), "small", 1)
				release := time.Now().Add(5 * time.Millisecond)
				time.AfterFunc(time.Until(release)+at, cancel)
				time.Sleep(time.Until(release))
				require.NoError(b, b.other.Release(b.Context(), 2))
				require.NoError(b, <-first)
				require.ErrorIs(b, <-large, context.Canceled)
				require.NoError(b, <-small)
				require.Less(b, time.Since(release), 100*time.Millisecond, "it waited for the poll")
				b.settle()
				require.Equal(b, "0", value(b.T, b.redis, "s"))
			})
		})
	}
}

// One of three waiters is cancelled at every quarter of a millisecond around the release of a permit for each: before
// the message, while an attempt is on its way, after it.
func TestAWaiterOfSeveralCancelledAtAnyPointLosesNoPermitAndNoWakeUp(t *testing.T) {
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
						results = append(results, b.acquire(mine, fmt.Sprint(i), int64(1+i)))
					}
					release := time.Now().Add(5 * time.Millisecond)
					time.AfterFunc(time.Until(release)+at, cancel)
					time.Sleep(time.Until(release))
					require.NoError(b, b.other.Release(b.Context(), 1+2+3))
					left := 0
					for i, result := range results {
						if err := <-result; err != nil {
							require.Equal(b, who, i, "only one was cancelled: %v", err)
							require.ErrorIs(b, err, redlatch.ErrNotAcquired)
							require.ErrorIs(b, err, context.Canceled)
							left = 1 + i
						}
					}
					require.Less(b, time.Since(release), 100*time.Millisecond, "somebody waited for the poll")
					b.settle()
					require.Equal(b, fmt.Sprint(left), value(b.T, b.redis, "s"), "what nobody has is there")
				})
			})
		}
	}
}

func TestEachWaiterOfAReleaseIsObservedAsHavingAcquired(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		var mu sync.Mutex
		var acquired []time.Duration
		b.s = semaphore.New(b.client, "s", briefly.Linger(0), redlatch.WithPoll(poll), redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind == redlatch.EventWaiting {
				return
			}
			require.Equal(b, redlatch.EventAcquired, e.Kind)
			acquired = append(acquired, e.Duration)
		})))
		for i := range 3 {
			b.acquire(b.Context(), fmt.Sprint(i), 1)
		}
		require.NoError(b, b.other.Release(b.Context(), 3))
		b.settle()
		mu.Lock()
		defer mu.Unlock()
		require.Len(b, acquired, 3)
		for _, d := range acquired {
			require.Greater(b, d, 50*time.Millisecond, "it waited for longer than one attempt takes")
		}
	})
}

// The release of what was taken beside is no caller's to repeat, so it is not given up with the release timeout.
func TestWhatWasTakenForAWaiterThatHasLeftComesBackAlsoAfterAnOutage(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.Context())
		server := &loading{}
		b.client.AddHook(server)
		first, second := b.acquire(b.Context(), "first", 1), b.acquire(ctx, "second", 1)
		server.then = func() {
			cancel()
			time.Sleep(time.Millisecond) // it leaves
		}
		server.armed.Store(true)
		require.NoError(b, b.other.Release(b.Context(), 2))
		require.NoError(b, <-first)
		require.ErrorIs(b, <-second, context.Canceled)
		time.Sleep(time.Minute)
		require.Equal(b, "0", value(b.T, b.redis, "s"))
		server.down.Store(false)
		time.Sleep(5 * time.Second)
		require.Equal(b, "1", value(b.T, b.redis, "s"))
	})
}
