package locking_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/rootapi"
)

func TestRenewalsLengthenTheKeyEveryThirdOfTheTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		for period := 1; period <= 6; period++ {
			k.at(time.Duration(period)*10*time.Second - time.Millisecond)
			require.Equal(t, 20*time.Second+time.Millisecond, k.mini.TTL(name))
			time.Sleep(2 * time.Millisecond)
			require.Equal(t, 30*time.Second-time.Millisecond, k.mini.TTL(name))
			require.Equal(t, period, k.sent("renew"))
			require.Equal(t, time.Duration(period)*10*time.Second+29698*time.Millisecond, k.trusted(h))
		}
	})
}

// The trust ends a hundredth of the lease and 2 ms before the lease, but at least 10 ms; of very short leases half.
func TestTrustEndsAMarginBeforeTheLease(t *testing.T) {
	for lease, trusted := range map[time.Duration]time.Duration{
		10 * time.Millisecond:  5 * time.Millisecond,
		100 * time.Millisecond: 90 * time.Millisecond,
		time.Second:            988 * time.Millisecond,
		30 * time.Second:       29698 * time.Millisecond,
		time.Hour:              59*time.Minute + 23998*time.Millisecond,
	} {
		inBubble(t, func(t *testing.T, k *kit) {
			h := k.take(k.lock(), k.ctx, redlatch.WithLease(lease))
			work := h.Context(k.ctx)
			require.Equal(t, trusted, k.trusted(h))
			k.at(trusted - 1)
			require.True(t, h.Valid())
			require.NoError(t, work.Err())
			<-work.Done()
			require.Equal(t, trusted, time.Since(k.start))
			require.False(t, h.Valid())
		})
	}
}

func TestAHoldThatCannotBeRenewedEndsBeforeItsLease(t *testing.T) {
	// However many renewals succeed first, and however the next ones fail.
	for name, f := range map[string]fault{
		"refused":    {refused: true},
		"lost":       {lost: true},
		"unanswered": {before: 2 * time.Minute},
		"too late":   {before: 25 * time.Second, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			for good := range 3 {
				inBubble(t, func(t *testing.T, k *kit) {
					h := k.take(k.lock(), k.ctx)
					work := h.Context(k.ctx)
					k.at(time.Duration(good)*10*time.Second + 5*time.Second)
					k.faults(func(op string) fault {
						if op == "renew" {
							return f
						}
						return fault{}
					})
					<-work.Done()
					require.Equal(t, time.Duration(good)*10*time.Second+29698*time.Millisecond, time.Since(k.start))
					require.True(t, k.locked(), "the server still has it")
					var loss *redlatch.LossError
					require.ErrorAs(t, context.Cause(work), &loss)
					require.Equal(t, h.Owner(), loss.Owner)
					if f.refused && f.before == 0 {
						require.ErrorIs(t, loss, errRefused)
					}
				})
			}
		})
	}
}

// Latency is taken off the trust: it counts from before the send.
func TestASlowServerShortensTrustNotSafety(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.faults(func(string) fault { return fault{before: time.Second, after: 2 * time.Second} })
		h := k.take(k.lock(), k.ctx)
		require.Equal(t, 3*time.Second, time.Since(k.start))
		require.Equal(t, 29698*time.Millisecond, k.trusted(h))
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			require.True(t, h.Valid())
			require.True(t, h.Until().Before(time.Now().Add(k.mini.TTL(name))))
		}
	})
}

func TestAnAcquisitionThatAnswersAfterItsLeaseIsNoHold(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.harm("acquire", 1, fault{after: 2 * time.Second})
		_, err := locking.Lock(k.ctx, k.lock(), []redlatch.Option{redlatch.WithLease(2 * time.Second)})
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody else has it")
		require.ErrorContains(t, err, "longer lease")
	})
}

func TestTheCauseOfALossIsTheLastFailure(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		work := h.Context(k.ctx)
		k.faults(down)
		<-work.Done()
		require.ErrorIs(t, context.Cause(work), redlatch.ErrLost)
		require.ErrorIs(t, context.Cause(work), errRefused)
		k.faults(nil)
		require.ErrorIs(t, h.Unlock(k.ctx), redlatch.ErrLost)
	})
}

func TestAnOutageShorterThanTheTrustCostsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		for range 5 {
			time.Sleep(20 * time.Second)
			k.faults(down)
			time.Sleep(15 * time.Second)
			k.faults(nil)
			time.Sleep(5 * time.Second)
			require.True(t, h.Valid())
		}
		require.NoError(t, h.Unlock(k.ctx))
	})
}

func TestLockTriesOnDuringAnOutageAndThenGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.faults(down)
		_, err := locking.Lock(k.ctx, k.lock(), nil)
		require.ErrorIs(t, err, errRefused)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired)
		took := time.Since(k.start)
		require.LessOrEqual(t, took, 10*time.Second)
		require.Greater(t, took, 9*time.Second)

		_, err = locking.TryLock(k.ctx, k.lock(), nil)
		require.ErrorIs(t, err, errRefused)
		require.LessOrEqual(t, time.Since(k.start)-took, 2*time.Second)

		time.AfterFunc(5*time.Second, func() { k.faults(nil) })
		h := k.take(k.lock(), k.ctx)
		require.NoError(t, h.Unlock(k.ctx))
	})
}

func TestAWaitThatEndsDuringAnOutageSaysBoth(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.faults(down)
		ctx, cancel := context.WithTimeout(k.ctx, 3*time.Second)
		defer cancel()
		_, err := locking.Lock(ctx, k.lock(), nil)
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody else has it")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errRefused)
		require.Equal(t, 3*time.Second, time.Since(k.start))
	})
}

// Asked again, a try might take what its own first send brought for somebody else's.
func TestATryWhoseOutageTakesLongerThanItsLeaseSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithLease(time.Second), redlatch.WithOutage(10*time.Second))
		asked := 0
		k.faults(func(op string) fault {
			if op != "acquire" {
				return fault{}
			}
			asked++
			return fault{lost: asked == 1, refused: asked > 1 && time.Since(k.start) < 1500*time.Millisecond}
		})
		_, err := locking.TryLock(k.ctx, b, nil)
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody else has it")
		require.ErrorContains(t, err, "the outage took longer than its lease of 1s")
		time.Sleep(time.Second)
		require.False(t, k.locked())
	})
}

// What was acquired by a send without an answer has to be given back when the server is back so late, and whoever waits
// acquires anew, in his place.
func TestAnOutageLongerThanTheLeaseCostsNobodyHisPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithLease(3 * time.Second))
		holder := k.take(k.foreign(), k.ctx)
		first, second := k.wait(b, k.ctx), k.wait(b, k.ctx)
		asked := false
		k.faults(func(op string) fault {
			if op == "acquire" && !asked {
				asked = true
				return fault{lost: true}
			}
			return fault{refused: true}
		})
		require.NoError(t, holder.Unlock(k.ctx))
		time.Sleep(4 * time.Second)
		k.faults(nil)
		got := <-first
		require.NoError(t, got.err)
		require.Equal(t, 1, k.told(redlatch.EventAcquired))
		require.NoError(t, got.hold.Unlock(k.ctx))
		got = <-second
		require.NoError(t, got.err)
		require.NoError(t, got.hold.Unlock(k.ctx))
	})
}

// An heir is told when contexts are, and asks what has been done by then.
type heir struct{ ended func() }

func (h heir) Ended(error)          { h.ended() }
func (h heir) Asked(string, string) {}

// What else is to be done about a loss takes mutexes, and the work must not go on while one of them is waited for.
func TestTheContextsOfALostHoldEndBeforeAnythingElseIsDone(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		inner := rootapi.Adopt(h)
		told := false
		inner.Ending().Bequeath(heir{func() {
			told = true
			require.True(t, locking.Announced(inner), "this was done before")
		}})
		require.True(t, k.mini.Del(name))
		require.ErrorIs(t, h.Extend(k.ctx, time.Minute), redlatch.ErrLost)
		require.True(t, told)
		require.False(t, locking.Announced(inner))
	})
}
