package locking_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/test/briefly"
)

// Every command whose answer is lost takes effect once.

func TestAnAcquisitionWhoseAnswerIsLostCountsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.harm("acquire", 1, fault{lost: true})
		h := k.take(k.lock(), k.ctx)
		require.Equal(t, 1, k.count(h.Owner()))
		require.Equal(t, 2, k.sent("acquire"))
		require.NoError(t, h.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

// The lease runs from the first send, which may be the one that was executed.
func TestTrustCountsFromTheFirstSendThatMayHaveBeenExecuted(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.harm("acquire", 1, fault{lost: true, after: 3 * time.Second})
		h := k.take(k.lock(), k.ctx, redlatch.WithLease(20*time.Second))
		require.Equal(t, 20*time.Second-202*time.Millisecond, k.trusted(h))
		<-h.Context(k.ctx).Done()
		require.True(t, k.locked())
	})
}

func TestAReentryWhoseAnswerIsLostCountsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		k.harm("recount", 1, fault{lost: true})
		inner := k.take(b, outer.Context(k.ctx))
		require.Equal(t, 2, k.count(outer.Owner()))
		require.NoError(t, inner.Unlock(k.ctx))
		require.Equal(t, 1, k.count(outer.Owner()))
		time.Sleep(2 * time.Minute) // settling changes nothing
		require.Equal(t, 1, k.count(outer.Owner()))
		require.True(t, outer.Valid())
		require.NoError(t, outer.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

func TestAPartialReleaseWhoseAnswerIsLostCountsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		inner := k.take(b, outer.Context(k.ctx))
		third := k.take(b, outer.Context(k.ctx))
		k.harm("recount", 1, fault{lost: true})
		require.NoError(t, inner.Unlock(k.ctx))
		require.Equal(t, 2, k.count(outer.Owner()))
		require.NoError(t, third.Unlock(k.ctx))
		require.Equal(t, 1, k.count(outer.Owner()))
		require.NoError(t, outer.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

func TestAFinalReleaseWhoseAnswerIsLostIsSuccess(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		h := k.take(b, k.ctx)
		k.harm("release", 1, fault{lost: true})
		require.NoError(t, h.Unlock(k.ctx))
		require.False(t, k.locked())
		next := k.take(b, k.ctx)
		time.Sleep(2 * time.Minute) // settling the first does not touch the second
		require.True(t, next.Valid())
		require.Equal(t, 1, k.count(next.Owner()))
	})
}

func TestAFinalReleaseWhoseAnswerIsLostAfterTheLeaseIsALoss(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx, redlatch.WithLease(2*time.Second))
		k.harm("release", 1, fault{lost: true, before: 3 * time.Second})
		require.ErrorIs(t, h.Unlock(k.ctx), redlatch.ErrLost)
	})
}

func TestAnExtensionWhoseAnswerIsLostCountsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx, redlatch.WithLease(5*time.Second))
		k.harm("recount", 1, fault{lost: true})
		require.NoError(t, h.Extend(k.ctx, time.Minute))
		require.Equal(t, 1, k.count(h.Owner()))
		require.Equal(t, time.Minute-602*time.Millisecond, k.trusted(h), "from before the first send")
	})
}

func TestARenewalWhoseAnswerIsLostIsMadeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		h := k.take(k.lock(), k.ctx)
		k.harm("renew", 1, fault{lost: true})
		k.at(10*time.Second + time.Millisecond)
		require.Equal(t, 1, k.sent("renew"))
		k.at(10500*time.Millisecond + time.Millisecond)
		require.Equal(t, 2, k.sent("renew"))
		require.Equal(t, 10500*time.Millisecond+29698*time.Millisecond, k.trusted(h))
	})
}

// What a caller leaves behind is settled behind its back.

func TestAnAcquisitionInFlightWhenItsCallerLeavesIsGivenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		k.harm("acquire", 1, fault{before: 3 * time.Second, after: time.Second})
		ctx, cancel := context.WithTimeout(k.ctx, time.Second)
		defer cancel()
		_, err := locking.Lock(ctx, b, nil)
		require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nothing is known")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(k.start), "at the deadline, not when the answer comes")
		k.at(3500 * time.Millisecond)
		require.True(t, k.locked(), "executed after its caller left")
		k.at(4*time.Second + time.Millisecond)
		require.False(t, k.locked(), "given back when the answer came")
		require.Zero(t, k.sent("renew"))
	})
}

func TestAnAbandonedReentryLeavesTheOuterHoldIntact(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		k.harm("recount", 1, fault{before: 2 * time.Second, after: time.Second})
		ctx, cancel := context.WithTimeout(outer.Context(k.ctx), time.Second)
		defer cancel()
		_, err := locking.Lock(ctx, b, nil)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.Equal(t, time.Second, time.Since(k.start))
		k.at(2500 * time.Millisecond)
		require.Equal(t, 2, k.count(outer.Owner()), "executed after its caller left")
		k.at(3*time.Second + time.Millisecond)
		require.Equal(t, 1, k.count(outer.Owner()))
		require.True(t, outer.Valid())
		require.NoError(t, outer.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

// A caller leaves while its re-entry is under way, so no goroutine reads the answer. The owner settles the re-entry.
func TestAnAbandonedReentryIsSettled(t *testing.T) {
	for name, test := range map[string]struct {
		first  fault         // what becomes of it
		denied time.Duration // for how long the server cannot be reached after it
		over   time.Duration // when the count is right again
	}{
		"executed late, and no answer":                {fault{ghost: 20 * time.Second}, time.Second, 45 * time.Second},
		"executed, and taken back later than at once": {fault{before: 2 * time.Second}, 8 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock()
				outer := k.take(b, k.ctx)
				sends := 0
				k.faults(func(op string) fault {
					if op != "recount" {
						return fault{}
					}
					if sends++; sends == 1 {
						return test.first
					}
					return fault{refused: time.Since(k.start) < test.denied}
				})
				ctx, cancel := context.WithTimeout(outer.Context(k.ctx), time.Second)
				defer cancel()
				_, err := locking.Lock(ctx, b, nil)
				require.Error(t, err)
				executed := k.within(25*time.Second, func() bool { return k.count(outer.Owner()) == 2 })
				require.True(t, executed)
				k.at(test.over)
				require.Equal(t, 1, k.count(outer.Owner()))
				require.True(t, outer.Valid())
				require.NoError(t, outer.Unlock(k.ctx))
				require.False(t, k.locked())
			})
		})
	}
}

func TestTheReleaseWaitsForAnAbandonedReentry(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		k.harm("recount", 1, fault{before: 2 * time.Second})
		ctx, cancel := context.WithTimeout(outer.Context(k.ctx), time.Second)
		defer cancel()
		_, err := locking.Lock(ctx, b, nil)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NoError(t, outer.Unlock(k.ctx))
		require.Equal(t, 2*time.Second, time.Since(k.start))
		require.False(t, k.locked())
	})
}

func TestAReentryWaitsNoLongerThanWithWait(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		k.harm("recount", 1, fault{before: 4 * time.Second})
		_, err := locking.Lock(context.WithoutCancel(outer.Context(k.ctx)), b, []redlatch.Option{redlatch.WithWait(time.Second)})
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(k.start))
		time.Sleep(time.Minute)
		require.Equal(t, 1, k.count(outer.Owner()))
	})
}

// A client may have no read timeout, and its connection may have died without a word.
func TestAnAnswerThatDoesNotComeIsNotWaitedForToGiveBack(t *testing.T) {
	hour := []redlatch.Option{redlatch.WithLease(time.Hour)}
	t.Run("acquisition", func(t *testing.T) {
		inBubble(t, func(t *testing.T, k *kit) {
			k.harm("acquire", 1, fault{after: 2 * time.Minute})
			ctx, cancel := context.WithTimeout(k.ctx, time.Second)
			defer cancel()
			_, err := locking.Lock(ctx, k.lock(), hour)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "nobody has said anything")
			k.at(2 * time.Second)
			require.True(t, k.locked())
			k.at(12 * time.Second)
			require.False(t, k.locked())
		})
	})
	t.Run("re-entry", func(t *testing.T) {
		inBubble(t, func(t *testing.T, k *kit) {
			b := k.lock()
			outer := k.take(b, k.ctx, hour...)
			k.harm("recount", 1, fault{after: 2 * time.Minute})
			ctx, cancel := context.WithTimeout(outer.Context(k.ctx), time.Second)
			defer cancel()
			_, err := locking.Lock(ctx, b, nil)
			require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			k.at(12 * time.Second)
			require.Equal(t, 1, k.count(outer.Owner()))
			require.NoError(t, outer.Unlock(k.ctx))
			require.False(t, k.locked())
		})
	})
}

// Ghosts: commands that are executed long after their sender gave up.

func TestTheGhostOfAnAcquisitionIsGivenBackAgain(t *testing.T) {
	for _, late := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, 50 * time.Second} {
		inBubble(t, func(t *testing.T, k *kit) {
			k.harm("acquire", 1, fault{ghost: late})
			h := k.take(k.lock(), k.ctx)
			require.NoError(t, h.Unlock(k.ctx))
			k.at(late + time.Millisecond)
			require.True(t, k.locked(), "the ghost has it")
			// The pauses double, so the next settling comes after as much time again at most.
			time.Sleep(late + 250*time.Millisecond)
			require.False(t, k.locked())
			require.Zero(t, k.sent("renew"))
		})
	}
}

// The second send answers, but nobody knows about the first.
func TestTheGhostOfAnEarlierSendIsGivenBackAlthoughTheCallerLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		other := k.take(baselock.New(k.honest, name, &plain, []redlatch.Option{briefly.Linger(0), confirmed}), k.ctx) // of another process
		sends := 0
		k.faults(func(op string) fault {
			if op != "acquire" {
				return fault{}
			}
			if sends++; sends == 1 {
				return fault{ghost: 15 * time.Second}
			}
			return fault{after: 3 * time.Second}
		})
		ctx, cancel := context.WithTimeout(k.ctx, time.Second)
		defer cancel()
		_, err := locking.Lock(ctx, k.lock(), nil)
		require.ErrorIs(t, err, redlatch.ErrUnavailable)
		require.NoError(t, other.Unlock(k.ctx))
		k.at(15*time.Second + time.Millisecond)
		require.True(t, k.locked(), "the ghost has it")
		k.at(32 * time.Second)
		require.False(t, k.locked())
	})
}

func TestTheGhostsOfOtherCommandsNeverHold(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		ghost := fault{ghost: 10 * time.Second}
		k.harm("recount", 1, ghost)
		inner := k.take(b, outer.Context(k.ctx)) // its first send comes as a ghost and says 2
		k.harm("recount", 1, ghost)
		require.NoError(t, inner.Unlock(k.ctx)) // says 1
		k.at(30 * time.Second)
		require.Equal(t, 1, k.count(outer.Owner()))
		k.harm("recount", 1, ghost)
		require.NoError(t, outer.Extend(k.ctx, time.Minute))
		k.harm("release", 1, ghost)
		require.NoError(t, outer.Unlock(k.ctx))
		require.False(t, k.locked())
		next := k.take(b, k.ctx)
		time.Sleep(2 * time.Minute)
		require.True(t, next.Valid())
		require.Equal(t, 1, k.count(next.Owner()))
	})
}

func TestAHookThatPanicsDuringAReEntryHoldsUpNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		h := k.take(b, k.ctx)
		k.harm("recount", 1, fault{panics: true})
		ctx := context.WithoutCancel(h.Context(k.ctx)) // else the command runs on a goroutine from which nobody recovers
		require.Panics(t, func() { _, _ = locking.Lock(ctx, b, nil) })
		again := k.take(b, ctx)
		require.NoError(t, again.Unlock(k.ctx))
		require.Equal(t, 1, k.count(h.Owner()))
		require.NoError(t, h.Unlock(k.ctx))
		require.False(t, k.locked())
		require.Zero(t, time.Since(k.start))
	})
}

// What settles an owner that has holds may be executed late itself, when the count is another.
func TestTheGhostOfASettlingIsSettledToo(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		h := k.take(b, k.ctx)
		inner := k.take(b, h.Context(k.ctx))
		sends := 0
		k.faults(func(op string) fault {
			if op != "recount" {
				return fault{}
			}
			switch sends++; sends {
			case 1: // that of the partial release
				return fault{lost: true}
			case 3: // the first settling; the second send is the release again
				return fault{ghost: time.Minute - 100*time.Millisecond}
			}
			return fault{}
		})
		require.NoError(t, inner.Unlock(k.ctx))
		k.at(30 * time.Second)
		again := k.take(b, h.Context(k.ctx))
		executed := false
		for time.Since(k.start) < 62*time.Second {
			time.Sleep(10 * time.Millisecond)
			executed = executed || k.count(h.Owner()) == 1
		}
		require.True(t, executed, "the ghost has taken the count back")
		require.Equal(t, 2, k.count(h.Owner()))
		require.NoError(t, again.Unlock(k.ctx))
		require.NoError(t, h.Unlock(k.ctx))
	})
}
