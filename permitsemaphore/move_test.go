package permitsemaphore_test

import (
	"context"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// A street is a semaphore on fake time, with what counts the scripts that touch its permits, and another process.
type street struct {
	*testing.T
	s, other *permitsemaphore.Semaphore
	client   *redis.Client
	redis    *redis.Client
	sent     atomic.Int64
	lose     atomic.Bool // what is answered is not heard
}

func (*street) DialHook(next redis.DialHook) redis.DialHook { return next }

func (b *street) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slices.Contains(cmd.Args(), any(keys.PermitTimeouts("s"))) {
			b.sent.Add(1)
		}
		err := next(ctx, cmd)
		if b.lose.Load() {
			err = io.ErrUnexpectedEOF
			cmd.SetErr(err)
		}
		return err
	}
}

func (b *street) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func inStreet(t *testing.T, permits int64, test func(b *street), opts ...redlatch.Option) {
	t.Helper()
	redistest.Bubble(t, func(t *testing.T) {
		m, client := redistest.InMemory(t)
		b := &street{T: t, client: client, redis: redis.NewClient(redistest.InMemoryOptions(m))}
		t.Cleanup(func() { _ = b.redis.Close() })
		b.s = permitsemaphore.New(client, "s", append([]redlatch.Option{briefly.Linger(0)}, opts...)...)
		b.other = permitsemaphore.New(b.redis, "s", briefly.Linger(0))
		_, err := b.other.TrySetPermits(t.Context(), permits)
		require.NoError(t, err)
		client.AddHook(b)
		b.warm()
		test(b)
		time.Sleep(10 * time.Millisecond) // what a wait that has ended leaves behind is done by then
	})
}

// warm has the server know the scripts by which a permit goes from one to the next.
func (b *street) warm() {
	p, w := b.holds()
	_ = id(p)
	q := b.next(p, w)
	require.NoError(b, q.Release(b.Context()))
	p, w = b.young()
	_ = id(p)
	q = b.next(p, w)
	require.NoError(b, q.Release(b.Context()))
	b.settle()
}

// holds is a permit, and a waiter for it.
func (b *street) holds(opts ...redlatch.Option) (*permitsemaphore.Permit, <-chan result) {
	p := acquire(b, b.s, 1)
	w := acquiring(b.Context(), b.s, 1, opts...)
	b.settle()
	return p, w
}

// settle lets everything happen that takes no time, or the few milliseconds of a subscription.
func (b *street) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// next releases a permit for which a goroutine waits.
func (b *street) next(p *permitsemaphore.Permit, w <-chan result) *permitsemaphore.Permit {
	require.NoError(b, p.Release(b.Context()))
	return receive(b, w)
}

// young is a permit that Redis has confirmed this very moment, after a hand-off, and a waiter for it.
func (b *street) young(opts ...redlatch.Option) (*permitsemaphore.Permit, <-chan result) {
	p, w := b.holds()
	next := acquiring(b.Context(), b.s, 1, opts...)
	b.settle()
	p = b.next(p, w)
	synctest.Wait()
	b.sent.Store(0)
	return p, next
}

func TestAPermitMovesWithoutACommandIfItsIdIsUnknown(t *testing.T) {
	inStreet(t, 1, func(b *street) {
		p, w := b.young()
		q := b.next(p, w)
		require.Zero(b, b.sent.Load())
		require.Empty(b, id(p))
		require.Empty(b, p.IDs())
		require.False(b, p.Valid())
		require.True(b, q.Valid())
		require.ErrorIs(b, p.Release(b.Context()), redlatch.ErrReleased)
		require.Positive(b, score(b, b.redis, "s", id(q)))
		requireState(b, b.redis, "s", "0", 1)
		require.NoError(b, q.Release(b.Context()))
		requireState(b, b.redis, "s", "1", 0)
	})
}

// What moves is renewed on behalf of the one that has it, and belongs to that one alone.
func TestAPermitThatHasMovedLivesOn(t *testing.T) {
	inStreet(t, 1, func(b *street) {
		p, w := b.young()
		q := b.next(p, w)
		time.Sleep(5 * time.Minute)
		require.True(b, q.Valid())
		requireState(b, b.redis, "s", "0", 1)
		_, err := b.redis.Del(b.Context(), "s", keys.PermitTimeouts("s")).Result()
		require.NoError(b, err)
		require.ErrorIs(b, ended(b, q.Context(b.Context())), redlatch.ErrLost)
	})
}

func TestAnIdThatTheProgramHasSeenIsNeverGivenToAnother(t *testing.T) {
	var told atomic.Value
	observer := redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventAcquired {
			told.Store(e.Owner)
		}
	}))
	for name, c := range map[string]struct {
		opts []redlatch.Option
		see  func(b *street, p *permitsemaphore.Permit) string
	}{
		"by ID":  {nil, func(_ *street, p *permitsemaphore.Permit) string { return id(p) }},
		"by IDs": {nil, func(_ *street, p *permitsemaphore.Permit) string { return p.IDs()[0] }},
		"by Inspect": {nil, func(b *street, _ *permitsemaphore.Permit) string {
			info, err := b.s.Inspect(b.Context())
			require.NoError(b, err)
			return info.Holders[0].Owner
		}},
		"by Inspect of another client": {nil, func(b *street, _ *permitsemaphore.Permit) string {
			info, err := b.other.Inspect(b.Context())
			require.NoError(b, err)
			return info.Holders[0].Owner
		}},
		"by an observer": {[]redlatch.Option{observer}, func(*street, *permitsemaphore.Permit) string { return told.Load().(string) }},
	} {
		t.Run(name, func(t *testing.T) {
			inStreet(t, 1, func(b *street) {
				p, w := b.young()
				seen := c.see(b, p)
				b.sent.Store(0)
				q := b.next(p, w)
				require.EqualValues(b, 1, b.sent.Load(), "one script swaps the ids")
				require.NotEqual(b, seen, id(q))
				require.Zero(b, score(b, b.redis, "s", seen))
				require.ErrorIs(b, b.s.Release(b.Context(), seen), redlatch.ErrNotHeld)
				require.True(b, q.Valid())
				requireState(b, b.redis, "s", "0", 1)
				require.NoError(b, q.Release(b.Context()))
				requireState(b, b.redis, "s", "1", 0)
			}, c.opts...)
		})
	}
}

// The id is asked for beside the release, so that each may come first.
func TestWhetherAnIdIsKnownIsDecidedTogetherWithTheMove(t *testing.T) {
	moved := 0
	for range 300 {
		inStreet(t, 1, func(b *street) {
			p, w := b.young()
			seen := make(chan string)
			go func() { seen <- id(p) }()
			q := b.next(p, w)
			told := <-seen
			if told == "" {
				moved++
			}
			require.NotEqual(b, told, id(q))
			require.NoError(b, q.Release(b.Context()))
		})
	}
	require.Positive(t, moved)
}

// A waiter with terms of its own gets them: from Redis, in one script.
func TestAPermitMovesByScriptWhereTheTermsDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		opts []redlatch.Option
		most time.Duration // how long the permit is trusted
	}{
		"a lease of its own":        {[]redlatch.Option{redlatch.WithLease(5 * time.Second)}, 5 * time.Second},
		"no lease":                  {[]redlatch.Option{permitsemaphore.WithoutExpiry()}, 100 * 366 * 24 * time.Hour},
		"a shorter watchdog":        {[]redlatch.Option{redlatch.WithWatchdogTimeout(6 * time.Second)}, 6 * time.Second},
		"a longest time":            {[]redlatch.Option{redlatch.WithMaxHold(4 * time.Second)}, 4 * time.Second},
		"a longer time than leases": {[]redlatch.Option{redlatch.WithMaxHold(time.Hour)}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inStreet(t, 1, func(b *street) {
				p, w := b.young(c.opts...)
				q := b.next(p, w)
				require.EqualValues(b, 1, b.sent.Load())
				require.LessOrEqual(b, time.Until(q.Until()), c.most)
				require.Greater(b, time.Until(q.Until()), min(c.most, time.Hour)*9/10)
				if name == "no lease" {
					require.EqualValues(b, never, score(b, b.redis, "s", id(q)))
				}
				require.NoError(b, q.Release(b.Context()))
				requireState(b, b.redis, "s", "1", 0)
			})
		})
	}
}

// A lease that was changed, or may be changed late, stays with the id that it was changed for.
func TestAPermitWhoseLeaseWasChangedMovesByScript(t *testing.T) {
	inStreet(t, 1, func(b *street) {
		p, w := b.young()
		require.NoError(b, p.UpdateLease(b.Context(), time.Minute))
		b.sent.Store(0)
		q := b.next(p, w)
		require.EqualValues(b, 1, b.sent.Load())
		require.LessOrEqual(b, time.Until(q.Until()), 30*time.Second)
		require.NoError(b, q.Release(b.Context()))

		p, w = b.young()
		b.lose.Store(true)
		ctx, cancel := context.WithTimeout(b.Context(), time.Microsecond)
		defer cancel()
		require.ErrorIs(b, p.UpdateLease(ctx, time.Minute), redlatch.ErrUncertain)
		b.lose.Store(false)
		q = b.next(p, w)
		require.False(b, p.Valid())
		require.LessOrEqual(b, time.Until(q.Until()), 30*time.Second)
		require.Equal(b, int64(1), b.redis.ZCount(b.Context(), keys.PermitTimeouts("s"), "-inf", strconv.FormatInt(time.Now().Add(31*time.Second).UnixMilli(), 10)).Val())
		require.NoError(b, q.Release(b.Context()))
		time.Sleep(10 * time.Second) // what settles the lease may have lost an answer too, and then asks again
	})
}

// The news of one permit say nothing about another.
func TestAPermitOfWhichThereAreNoNewsMovesByScript(t *testing.T) {
	inStreet(t, 2, func(b *street) {
		one, two := acquire(b, b.s, 1), acquire(b, b.s, 1)
		var waiting []<-chan result
		for range 4 {
			waiting = append(waiting, acquiring(b.Context(), b.s, 1))
			b.settle()
		}
		one, two = b.next(one, waiting[0]), b.next(two, waiting[1])
		time.Sleep(old)
		two = b.next(two, waiting[2]) // Redis has the semaphore, and this permit
		require.NoError(b, b.redis.ZRem(b.Context(), keys.PermitTimeouts("s"), b.redis.ZRange(b.Context(), keys.PermitTimeouts("s"), 0, 0).Val()).Err())
		require.ErrorIs(b, one.Release(b.Context()), redlatch.ErrLost)
		require.NoError(b, b.redis.Incr(b.Context(), "s").Err())
		require.NoError(b, two.Release(b.Context()))
		require.NoError(b, receive(b, waiting[3]).Release(b.Context()))
		requireState(b, b.redis, "s", "2", 0)
	})
}

func TestWithoutLocalHandOffEachPermitIsAcquiredFromRedis(t *testing.T) {
	inStreet(t, 1, func(b *street) {
		for range 3 {
			p, w := b.holds()
			b.sent.Store(0)
			require.NoError(b, b.next(p, w).Release(b.Context()))
			require.Greater(b, b.sent.Load(), int64(2), "two releases, and an acquisition between them")
		}
	}, redlatch.WithoutLocalHandOff())
}

// Several permits go to those who want fewer, as far as they reach, and the rest goes back.
func TestSeveralPermitsGoToWhoeverTheySuffice(t *testing.T) {
	inStreet(t, 5, func(b *street) {
		p := acquire(b, b.s, 5)
		warm := acquiring(b.Context(), b.s, 5)
		b.settle()
		waiting := []<-chan result{acquiring(b.Context(), b.s, 1)}
		b.settle()
		waiting = append(waiting, acquiring(b.Context(), b.s, 2))
		b.settle()
		p = b.next(p, warm)
		require.NoError(b, p.Release(b.Context()))
		for i, w := range waiting {
			q := receive(b, w)
			require.Len(b, q.IDs(), 1+i)
			require.NoError(b, q.Release(b.Context()))
		}
		requireState(b, b.redis, "s", "5", 0)
	})
}

func TestAWaiterThatLeavesDuringAMoveLosesNoPermit(t *testing.T) {
	for _, ids := range []bool{false, true} {
		inStreet(t, 1, func(b *street) {
			for range 50 {
				p := acquire(b, b.s, 1)
				ctx, cancel := context.WithCancel(b.Context())
				leaves, stays := acquiring(ctx, b.s, 1), acquiring(b.Context(), b.s, 1)
				b.settle()
				if ids {
					_ = id(p)
				}
				go cancel()
				require.NoError(b, p.Release(b.Context()))
				if r := <-leaves; r.err == nil {
					require.NoError(b, r.permit.Release(b.Context()))
				}
				require.NoError(b, receive(b, stays).Release(b.Context()))
				b.settle()
				requireState(b, b.redis, "s", "1", 0)
			}
		})
	}
}
