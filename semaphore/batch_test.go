package semaphore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
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
		require.LessOrEqual(b, sent, 4, "each is for up to 32, and who is left is asked for at once")
		require.Equal(b, "0", value(b.T, b.redis, "s"))
	})
}

func TestAWaiterThatIsRefusedInABatchIsNotOvertakenAndAsksNoMoreThanOnAPoll(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		b.acquire(b.Context(), "first", 1)
		large := b.acquire(b.Context(), "large", 3)
		b.acquire(b.Context(), "small", 1)
		b.traffic.since()
		require.NoError(b, b.other.Release(b.Context(), 3))
		b.settle()
		require.Equal(b, []string{"first"}, b.order())
		sent, _ := b.traffic.since()
		require.Equal(b, 1, sent)
		require.NoError(b, b.other.Release(b.Context(), 1))
		require.NoError(b, <-large)
		require.NoError(b, b.other.Release(b.Context(), 1))
		b.settle()
		require.Equal(b, []string{"first", "large", "small"}, b.order())
	})
}

// The large one is refused by an attempt that it has not made. It leaves at every quarter of a millisecond around that
// attempt, and the small one behind it must not wait for the poll.
func TestWhenAWaiterThatIsRefusedInABatchLeavesThoseBehindItProceedAtOnce(t *testing.T) {
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
// the message, while the attempt for all of them is on its way, after it.
func TestAWaiterOfABatchCancelledAtAnyPointLosesNoPermitAndNoWakeUp(t *testing.T) {
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

func TestEachOfABatchIsObservedAsHavingAcquired(t *testing.T) {
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

// inLine returns when that many of the client's process wait in line.
func inLine(t testing.TB, client *redis.Client, key string, n int) {
	t.Helper()
	set := settings.Defaults()
	waiters := func() int {
		return session.Of(client, &set).Waiters(cohort.KeyFor(key, "semaphore"))
	}
	eventually(t, fmt.Sprint(n, " wait"), func() bool { return waiters() == n })
}

// The reply to the attempt for several is lost, or its request, or the connection with either. It is sent again, and takes
// effect once.
func TestABatchWhoseAnswerIsLostServesEachOnce(t *testing.T) {
	for name, fault := range map[string]faultproxy.Action{
		"the reply is lost": faultproxy.DropReply, "half of it": faultproxy.HalfReply, "the request is lost": faultproxy.DropRequest,
		"cut before it is executed": faultproxy.CloseBefore, "cut after": faultproxy.CloseAfter, "reset after": faultproxy.ResetAfter,
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
				r := newRig(t, srv, 200*time.Millisecond)
				key := srv.Key(t, "s")
				set(t, r.direct, key, 0)
				s := semaphore.New(r.faulty, key, briefly.Linger(0), redlatch.WithPoll(long))
				const waiters = 5
				errs := make(chan error, waiters)
				acquire := func() { errs <- s.Acquire(t.Context(), 1) }
				go acquire()
				eventually(t, "it has asked once more when it was subscribed", func() bool { // else that attempt could be hit
					return r.direct.ZCard(t.Context(), "redlatch_semaphore_row:{"+key+"}").Val() == 1
				})
				for range waiters - 1 {
					go acquire()
				}
				inLine(t, r.faulty, key, waiters)
				rule := r.proxy.On(func(c faultproxy.Command) bool {
					return onCall(key)(c) && len(c.Args) > 14 && c.Args[14] == fmt.Sprint(waiters)
				}, 1, fault)
				require.NoError(t, r.direct.IncrBy(t.Context(), key, waiters+2).Err())
				require.NoError(t, r.direct.Publish(t.Context(), "redisson_sc:{"+key+"}", waiters+2).Err())
				for range waiters {
					select {
					case err := <-errs:
						require.NoError(t, err)
					case <-time.After(30 * time.Second):
						t.Fatal("not everybody was served, although there is enough")
					}
				}
				require.EqualValues(t, 1, rule.Hits(), "there was no attempt for five")
				require.Equal(t, "2", value(t, r.direct, key))
			})
		})
	}
}

// loading is a hook of a client. When it is armed, the server begins to load its data after the next script, and executes
// none until it is done.
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

// The share of one who has left is nobody's else to give back, so it is not given up with the release timeout, as a release
// is that certainly was not executed and that its caller may repeat.
func TestTheShareOfAWaiterThatHasLeftABatchComesBackAlsoAfterAnOutage(t *testing.T) {
	inBubble(t, 0, func(b *bubble) {
		ctx, cancel := context.WithCancel(b.Context())
		server := &loading{}
		b.client.AddHook(server)
		first, second := b.acquire(b.Context(), "first", 1), b.acquire(ctx, "second", 2)
		server.then = func() {
			cancel()
			time.Sleep(time.Millisecond) // it leaves
		}
		server.armed.Store(true)
		require.NoError(b, b.other.Release(b.Context(), 3))
		require.NoError(b, <-first)
		require.ErrorIs(b, <-second, context.Canceled)
		time.Sleep(time.Minute)
		require.Equal(b, "0", value(b.T, b.redis, "s"))
		server.down.Store(false)
		time.Sleep(5 * time.Second)
		require.Equal(b, "2", value(b.T, b.redis, "s"))
	})
}
