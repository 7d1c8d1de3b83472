package semaphore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// old is longer than a lot stays young, with the time of the script that finds out.
const old = 50 * time.Millisecond

func TestAPermitMovesWithoutACommandUntilTheLotIsOld(t *testing.T) {
	inBubble(t, 1, func(b *bubble) {
		require.NoError(b, b.s.Acquire(b.Context(), 1))
		for _, who := range []string{"a", "b", "c", "d", "e"} {
			b.acquire(b.Context(), who, 1)
		}
		b.traffic.since()
		// No goroutine waited before, so the first release finds no lot. It sends its script twice: the server does not know it.
		for i, scripts := range []int{2, 0, 0} {
			require.NoError(b, b.s.Release(b.Context(), 1))
			synctest.Wait()
			sent, _ := b.traffic.since()
			require.Equal(b, scripts, sent, "release %d", i)
			require.Len(b, b.order(), i+1)
			require.Equal(b, "0", value(b, b.redis, "s"))
		}
		time.Sleep(old)
		require.NoError(b, b.s.Release(b.Context(), 1))
		synctest.Wait()
		sent, _ := b.traffic.since()
		require.Equal(b, 1, sent)
		require.Equal(b, []string{"a", "b", "c", "d"}, b.order())
		require.NoError(b, b.s.Release(b.Context(), 1))
		require.NoError(b, b.s.Release(b.Context(), 1)) // no goroutine waits any more
		require.Equal(b, "1", value(b, b.redis, "s"))
	})
}

// confirmed has each operation be a command, or changes nothing.
func confirmed(yes bool) redlatch.Option {
	if yes {
		return redlatch.WithoutLocalHandOff()
	}
	return nil
}

func TestWithoutLocalHandOffEachReleaseIsACommand(t *testing.T) {
	for name, c := range map[string]struct{ releaser, waiter bool }{"of the semaphore": {true, false}, "of the call": {false, true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(b *bubble) {
				s := semaphore.New(b.client, "s", briefly.Linger(0), confirmed(c.releaser))
				require.NoError(b, s.Acquire(b.Context(), 1))
				for range 3 {
					got := b.acquire(b.Context(), "a", 1, confirmed(c.waiter))
					b.traffic.since()
					require.NoError(b, s.Release(b.Context(), 1))
					sent, _ := b.traffic.since()
					require.GreaterOrEqual(b, sent, 1)
					require.NoError(b, <-got)
				}
			})
		})
	}
	t.Setenv("REDLATCH_LOCAL_HANDOFF", "off")
	inBubble(t, 1, func(b *bubble) {
		require.NoError(b, b.s.Acquire(b.Context(), 1))
		got := b.acquire(b.Context(), "a", 1)
		b.traffic.since()
		require.NoError(b, b.s.Release(b.Context(), 1))
		b.settle()
		sent, _ := b.traffic.since()
		require.GreaterOrEqual(b, sent, 2, "the release, and the attempt of the process that is told")
		require.NoError(b, <-got)
	})
}

func TestARequestForManyPermitsIsNotOvertakenByASmallerOne(t *testing.T) {
	inBubble(t, 3, func(b *bubble) {
		require.NoError(b, b.s.Acquire(b.Context(), 3))
		many, few := b.acquire(b.Context(), "many", 3), b.acquire(b.Context(), "few", 1)
		for range 3 {
			require.Empty(b, b.order())
			require.NoError(b, b.s.Release(b.Context(), 1))
			b.settle()
		}
		require.Equal(b, []string{"many"}, b.order())
		require.NoError(b, <-many)
		require.NoError(b, b.s.Release(b.Context(), 3))
		require.NoError(b, <-few)
		require.Equal(b, "2", value(b, b.redis, "s"))
	})
}

func TestAWaiterThatLeavesDuringAHandOffLosesNoPermit(t *testing.T) {
	inBubble(t, 1, func(b *bubble) {
		require.NoError(b, b.s.Acquire(b.Context(), 1))
		for range 20 {
			ctx, cancel := context.WithCancel(b.Context())
			gone, stays := b.acquire(ctx, "gone", 1), b.acquire(b.Context(), "stays", 1)
			go cancel()
			require.NoError(b, b.s.Release(b.Context(), 1))
			if <-gone == nil {
				require.NoError(b, b.s.Release(b.Context(), 1))
			}
			require.NoError(b, <-stays)
		}
		require.NoError(b, b.s.Release(b.Context(), 1))
		b.settle()
		require.Equal(b, "1", value(b, b.redis, "s"))
	})
}

// busy has many goroutines of the process take turns, for a tenth of a millisecond each, until stop.
func (b *bubble) busy(turns *atomic.Int64) (now *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	now, done := new(atomic.Int64), make(chan struct{}, 12)
	for range cap(done) {
		go func() {
			for b.s.Acquire(ctx, 1) == nil {
				now.Add(1)
				turns.Add(1)
				time.Sleep(100 * time.Microsecond)
				now.Add(-1)
				if err := b.s.Release(b.Context(), 1); err != nil {
					b.Error(err)
				}
			}
			done <- struct{}{}
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

func TestADebtIsPaidWhenTheLotIsOld(t *testing.T) {
	inBubble(t, 4, func(b *bubble) {
		turns := new(atomic.Int64)
		now, stop := b.busy(turns)
		require.Greater(b, turns.Load(), int64(400), "permits should have moved")
		_, err := b.other.AddPermits(b.Context(), -3)
		require.NoError(b, err)
		time.Sleep(old)
		for range 100 {
			require.LessOrEqual(b, now.Load(), int64(1))
			time.Sleep(time.Millisecond)
		}
		_, err = b.other.AddPermits(b.Context(), 3)
		require.NoError(b, err)
		stop()
		require.Equal(b, "4", value(b, b.redis, "s"))
	})
}

func TestASemaphoreThatIsGoneIsNoticedWhenTheLotIsOld(t *testing.T) {
	inBubble(t, 1, func(b *bubble) {
		_, stop := b.busy(new(atomic.Int64))
		require.NoError(b, b.redis.Del(b.Context(), "s").Err())
		time.Sleep(old)
		require.NotEmpty(b, value(b, b.redis, "s"), "a release that reaches Redis makes the semaphore again")
		stop()
		require.Equal(b, "1", value(b, b.redis, "s"))
	})
}

func TestAnotherProcessHasItsTurnBesideABusyOne(t *testing.T) {
	inBubble(t, 1, func(b *bubble) {
		_, stop := b.busy(new(atomic.Int64))
		for range 20 {
			start := time.Now()
			require.NoError(b, b.other.Acquire(b.Context(), 1))
			require.Less(b, time.Since(start), old)
			require.NoError(b, b.other.Release(b.Context(), 1))
		}
		stop()
		require.Equal(b, "1", value(b, b.redis, "s"))
	})
}

func TestAnOutsiderThatListensHearsOfRaises(t *testing.T) {
	inBubble(t, 1, func(b *bubble) {
		turns := new(atomic.Int64)
		_, stop := b.busy(turns)
		listens := b.redis.Subscribe(b.Context(), "redisson_sc:{s}")
		defer func() { require.NoError(b, listens.Close()) }()
		_, err := listens.Receive(b.Context())
		require.NoError(b, err)
		heard := new(atomic.Int64)
		go func() {
			for range listens.Channel() {
				heard.Add(1)
			}
		}()
		time.Sleep(old)
		heard.Store(0)
		turns.Store(0)
		time.Sleep(time.Second)
		stop()
		require.Greater(b, heard.Load(), int64(50))
		require.Greater(b, heard.Load()*4, turns.Load(), "most turns should go by way of Redis")
	})
}

// The script by which a release asks whether permits may stay in the process has one effect, however often it is sent and
// whatever becomes of its answers.
func TestALostAnswerToWhetherPermitsMayStayLosesNoPermit(t *testing.T) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		r := newRig(t, srv, patience)
		for _, f := range faults {
			for name, timeout := range map[string]time.Duration{"in time": 20 * time.Second, "uncertain": patience / 2} {
				t.Run(f.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					key := srv.Key(t, "s")
					set(t, r.direct, key, 1)
					s := semaphore.New(r.faulty, key, briefly.Linger(0), redlatch.WithPoll(long), redlatch.WithReleaseTimeout(timeout))
					require.NoError(t, s.Acquire(t.Context(), 1))
					served := make(chan error, 1)
					go func() { served <- s.Acquire(t.Context(), 1) }()
					eventually(t, "it stands in the row", func() bool {
						return r.direct.ZCard(t.Context(), "redlatch_semaphore_row:{"+key+"}").Val() == 1
					})
					r.proxy.On(onCall(key), 1, f.action)
					if err := s.Release(t.Context(), 1); err != nil {
						require.ErrorIs(t, err, redlatch.ErrUncertain)
					}
					require.NoError(t, <-served)
					if err := s.Release(t.Context(), 1); err != nil {
						require.ErrorIs(t, err, redlatch.ErrUncertain)
					}
					eventually(t, "the permit is back", func() bool { return value(t, r.direct, key) == "1" })
				})
			}
		}
	})
}
