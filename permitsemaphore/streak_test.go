package permitsemaphore_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// busy has goroutines take turns at the permits until stop. now is how many have one that is valid.
func (b *street) busy(ids bool) (now *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	now, done := new(atomic.Int64), make(chan struct{}, 12)
	for range cap(done) {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				p, err := b.s.Acquire(ctx, 1)
				if err != nil {
					continue
				}
				now.Add(1)
				if ids {
					_ = id(p)
				}
				time.Sleep(100 * time.Microsecond)
				now.Add(-1)
				if err := p.Release(b.Context()); err != nil && !isLoss(err) {
					b.Error(err)
				}
			}
		}()
	}
	time.Sleep(old)
	return now, func() {
		cancel()
		for range cap(done) {
			<-done
		}
		b.settle()
	}
}

// old is longer than a permit moves without Redis being asked, with the time of the script that finds out.
const old = 50 * time.Millisecond

func TestADeletedSemaphoreIsNoticedInTheMiddleOfAStreak(t *testing.T) {
	for _, ids := range []bool{false, true} {
		t.Run("ids seen: "+strconv.FormatBool(ids), func(t *testing.T) {
			inStreet(t, 3, func(b *street) {
				now, stop := b.busy(ids)
				_, err := b.other.Delete(b.Context())
				require.NoError(b, err)
				time.Sleep(old)
				require.Zero(b, now.Load())
				_, err = b.other.TrySetPermits(b.Context(), 1) // none of those before counts
				require.NoError(b, err)
				for range 100 {
					time.Sleep(time.Millisecond)
					require.LessOrEqual(b, now.Load(), int64(1))
				}
				stop()
				requireState(b, b.redis, "s", "1", 0)
			})
		})
	}
}

// A permit whose id somebody outside the program has read, and gives back, is noticed by its own news and not by those of others.
func TestAPermitThatIsTakenAwayIsNoticedInTheMiddleOfAStreak(t *testing.T) {
	inStreet(t, 2, func(b *street) {
		now, stop := b.busy(false)
		for range 20 {
			taken := keys.PermitTimeouts("s")
			redistest.Eventually(b, "a permit is taken away", func() bool { // a permit may be given back between the two commands, and is not lost then
				ids, err := b.redis.ZRange(b.Context(), taken, 0, 0).Result()
				require.NoError(b, err)
				return len(ids) > 0 && b.redis.ZRem(b.Context(), taken, ids[0]).Val() == 1
			})
			time.Sleep(old)
			require.LessOrEqual(b, now.Load(), int64(1)) // the other one may be free for a moment, so what Redis counts says less
			require.NoError(b, b.redis.Incr(b.Context(), "s").Err())
			require.NoError(b, b.redis.Publish(b.Context(), "redisson_sc:{s}", "1").Err())
			time.Sleep(old)
		}
		stop()
		requireState(b, b.redis, "s", "2", 0)
	})
}

func TestADebtOfPermitsIsPaidInTheMiddleOfAStreak(t *testing.T) {
	for _, ids := range []bool{false, true} {
		inStreet(t, 4, func(b *street) {
			now, stop := b.busy(ids)
			_, err := b.other.AddPermits(b.Context(), -3)
			require.NoError(b, err)
			time.Sleep(old)
			for range 100 {
				require.LessOrEqual(b, now.Load(), int64(1))
				time.Sleep(time.Millisecond)
			}
			stop()
			requireState(b, b.redis, "s", "1", 0)
		})
	}
}

func TestAnotherProcessHasItsPermitBesideABusyOne(t *testing.T) {
	for _, ids := range []bool{false, true} {
		inStreet(t, 1, func(b *street) {
			_, stop := b.busy(ids)
			for range 20 {
				start := time.Now()
				p, err := b.other.Acquire(b.Context(), 1)
				require.NoError(b, err)
				require.Less(b, time.Since(start), old)
				require.NoError(b, p.Release(b.Context()))
			}
			stop()
			requireState(b, b.redis, "s", "1", 0)
		})
	}
}
