package locking_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/test/briefly"
)

// A result is what a waiter got.
type result struct {
	hold *redlatch.Hold
	err  error
	at   time.Duration
}

// wait has somebody wait for the lock, and returns when he sleeps.
func (k *kit) wait(b *baselock.Base, ctx context.Context, opts ...redlatch.Option) <-chan result {
	done := make(chan result, 1)
	go func() {
		h, err := locking.Lock(ctx, b, opts)
		if err == nil {
			k.keep(h)
		}
		done <- result{h, err, time.Since(k.start)}
	}()
	synctest.Wait()
	return done
}

// foreign is the lock as another process has it.
func (k *kit) foreign() *baselock.Base {
	return baselock.New(k.honest, name, &plain, []redlatch.Option{briefly.Linger(0), confirmed})
}

func TestAReleaseHandsTheLockToTheNextOfItsProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		second, third := k.wait(b, k.ctx), k.wait(b, k.ctx)
		require.Equal(t, 1, k.sent("acquire"), "who waits for a holder of his process does not ask")
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, 1, k.count(got.hold.Owner()))
		require.Zero(t, k.count(first.Owner()))
		require.NoError(t, got.hold.Unlock(k.ctx))
		last := <-third
		require.NoError(t, last.err)
		require.Equal(t, []int{1, 2, 0}, []int{k.sent("acquire"), k.sent("handover"), k.sent("release")})
		require.NoError(t, last.hold.Unlock(k.ctx))
		require.Equal(t, 1, k.sent("release"), "nobody waits")
		require.False(t, k.locked())
	})
}

func TestWhatIsHandedOverHasTheTermsOfItsNewHolder(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx, redlatch.WithLease(time.Hour))
		second := k.wait(b, k.ctx, redlatch.WithLease(20*time.Second))
		k.harm("handover", 1, fault{before: time.Second, after: 2 * time.Second})
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, 20*time.Second-202*time.Millisecond, k.trusted(got.hold), "from before the send")
		require.Equal(t, 18*time.Second, k.mini.TTL(name))
		<-got.hold.Context(k.ctx).Done()
	})
}

func TestAHandOverWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		second := k.wait(b, k.ctx)
		k.harm("handover", 1, fault{lost: true})
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, 2, k.sent("handover"))
		time.Sleep(2 * time.Minute) // settling the doubt takes nothing away
		require.True(t, got.hold.Valid())
		require.Equal(t, 1, k.count(got.hold.Owner()))
		require.NoError(t, got.hold.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

// Whoever gives back does not learn in time what became of it, and whoever waits must not have it on a guess.
func TestAHandOverOfUnknownOutcomeIsSettledAndTheWaiterAsks(t *testing.T) {
	for what, f := range map[string]fault{
		"executed when nobody thinks of it any more": {ghost: 100 * time.Second},
		"executed at the end of the release's time":  {ghost: 4900 * time.Millisecond},
		"executed when it is being settled":          {ghost: 5100 * time.Millisecond},
		"executed much later":                        {ghost: 20 * time.Second},
		"executed, and the answers lost":             {lost: true},
		"executed late, and the answers lost":        {before: time.Second, lost: true},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock()
				first := k.take(b, k.ctx)
				second := k.wait(b, k.ctx)
				k.faults(func(op string) fault {
					if op == "handover" {
						return f
					}
					return fault{}
				})
				require.ErrorIs(t, first.Unlock(k.ctx), redlatch.ErrUncertain)
				got := <-second
				require.NoError(t, got.err)
				require.Less(t, got.at, 12*time.Second, "long before a lease would be over")
				time.Sleep(2 * time.Minute)
				require.True(t, got.hold.Valid())
				require.Equal(t, 1, k.count(got.hold.Owner()))
				require.NoError(t, got.hold.Unlock(k.ctx))
				require.False(t, k.locked())
			})
		})
	}
}

func TestAWaiterLeavesAtOnceWhateverItWasPromised(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		ctx, cancel := context.WithTimeout(k.ctx, 500*time.Microsecond)
		defer cancel()
		second, third := k.wait(b, ctx), k.wait(b, k.ctx)
		k.harm("handover", 1, fault{before: 800 * time.Microsecond, after: 800 * time.Microsecond})
		require.NoError(t, first.Unlock(k.ctx))
		left := <-second
		require.ErrorIs(t, left.err, redlatch.ErrNotAcquired)
		require.ErrorIs(t, left.err, context.DeadlineExceeded)
		require.Equal(t, 500*time.Microsecond, left.at)
		got := <-third // what the second was given goes on to the third
		require.NoError(t, got.err)
		require.Equal(t, 1600*time.Microsecond, got.at)
		require.Equal(t, 1, k.sent("acquire"))
		require.NoError(t, got.hold.Unlock(k.ctx))
		require.False(t, k.locked())
		require.Equal(t, 2, k.told(redlatch.EventAcquired))
		require.Equal(t, 2, k.told(redlatch.EventReleased))
	})
}

func TestWhatTheLastWaiterLeavesIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		ctx, cancel := context.WithTimeout(k.ctx, time.Second)
		defer cancel()
		second := k.wait(b, ctx)
		k.harm("handover", 1, fault{after: 2 * time.Second})
		require.NoError(t, first.Unlock(k.ctx))
		require.Error(t, (<-second).err)
		synctest.Wait()
		require.False(t, k.locked())
		require.Equal(t, 1, k.sent("release"))
	})
}

func TestALostLockIsNotHandedOver(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		second := k.wait(b, k.ctx)
		k.mini.Del(name)
		require.ErrorIs(t, first.Unlock(k.ctx), redlatch.ErrLost)
		got := <-second
		require.NoError(t, got.err, "it asks")
		require.Zero(t, got.at)
		require.Equal(t, 1, k.count(got.hold.Owner()))
	})
}

// The message of the deletion does not exist, and the holder does not know: the waiter asks once per poll interval.
func TestWhoWaitsForAHolderOfItsProcessAsksOncePerPollInterval(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithPoll(2 * time.Second))
		k.take(b, k.ctx)
		waiters := []<-chan result{k.wait(b, k.ctx), k.wait(b, k.ctx), k.wait(b, k.ctx)}
		k.at(20 * time.Second)
		asked := k.sent("acquire") - 1
		require.GreaterOrEqual(t, asked, 9)
		require.LessOrEqual(t, asked, 12)
		k.mini.Del(name)
		select {
		case got := <-waiters[0]:
			require.NoError(t, got.err)
			require.LessOrEqual(t, got.at, 22*time.Second)
		case <-waiters[1]:
			t.Fatal("out of order")
		}
		for _, w := range waiters[1:] {
			go func() { _ = (<-w).hold.Unlock(k.ctx) }()
		}
	})
}

func TestWaitersLearnAtOnceThatTheHolderOfTheirProcessHasLost(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock(redlatch.WithPoll(time.Hour))
		k.take(b, k.ctx)
		waiter := k.wait(b, k.ctx)
		k.mini.Del(name)
		got := <-waiter
		require.NoError(t, got.err)
		require.Equal(t, 10*time.Second, got.at, "when the renewal found out")
	})
}

func TestAHolderWhoForgetsHandsNothingOver(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		outer := k.take(b, k.ctx)
		inner := k.take(b, outer.Context(k.ctx))
		waiter := k.wait(b, k.ctx)
		require.NoError(t, outer.Unlock(k.ctx))
		synctest.Wait()
		require.Zero(t, k.sent("handover"), "it is held still")
		require.NoError(t, inner.Unlock(k.ctx))
		require.NoError(t, (<-waiter).err)
		require.Equal(t, 1, k.sent("handover"))
	})
}

func TestAWaiterWhoWantsReplicasAcquiresByItself(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		ctx, cancel := context.WithTimeout(k.ctx, time.Second)
		defer cancel()
		second := k.wait(b, ctx, redlatch.WithReplicas(1, 100*time.Millisecond))
		third := k.wait(b, k.ctx)
		require.NoError(t, first.Unlock(k.ctx))
		require.Zero(t, k.sent("handover"), "nobody is given the lock before his turn")
		require.ErrorIs(t, (<-second).err, redlatch.ErrNotReplicated) // there are none
		require.NoError(t, (<-third).err)
	})
}

func TestTryLockDoesNotOvertakeWhoWaitsForAHandOver(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		second := k.wait(b, k.ctx)
		_, err := locking.TryLock(k.ctx, b, nil)
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NoError(t, first.Unlock(k.ctx))
		require.NoError(t, (<-second).err)
	})
}

// A server that is short of memory may refuse what a release does not need.
func TestWhereAHandOverIsRefusedTheLockIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		second := k.wait(b, k.ctx)
		k.hopeless("handover")
		require.NoError(t, first.Unlock(k.ctx))
		require.Equal(t, 1, k.sent("release"))
		got := <-second
		require.NoError(t, got.err)
		require.Zero(t, got.at, "without trying again")
	})
}

// The release's message may pass before the waiter's subscription stands, or after.
func TestWhoComesWhileTheLockIsBeingReleasedHasItRightAfter(t *testing.T) {
	for _, early := range []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(early.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lock(redlatch.WithPoll(time.Hour))
				first := k.take(b, k.ctx)
				k.harm("release", 1, fault{before: time.Second, after: time.Second})
				go func() { _ = first.Unlock(k.ctx) }()
				synctest.Wait()
				time.Sleep(early)
				got := <-k.wait(b, k.ctx)
				require.NoError(t, got.err)
				require.LessOrEqual(t, got.at, 2*time.Second)
				require.Equal(t, 2, k.sent("acquire"), "not before it is free, and not twice")
			})
		})
	}
}

// The release is not made then; it is settled behind the panic.
func TestAHookThatPanicsDuringAHandOverLeavesNobodyWaitingForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		ctx, cancel := context.WithTimeout(k.ctx, time.Minute)
		defer cancel()
		second, third := k.wait(b, ctx), k.wait(b, ctx)
		k.harm("handover", 1, fault{panics: true})
		require.Panics(t, func() { _ = first.Unlock(k.ctx) })
		got := <-second
		require.NoError(t, got.err)
		require.Less(t, got.at, 5*time.Second)
		require.NoError(t, got.hold.Unlock(k.ctx))
		require.NoError(t, (<-third).err)
	})
}

func TestAHookThatPanicsAfterAHandOverLeavesTheLockToNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		first := k.take(b, k.ctx)
		second := k.wait(b, k.ctx)
		k.harm("handover", 1, fault{dies: true})
		require.Panics(t, func() { _ = first.Unlock(k.ctx) })
		got := <-second
		require.NoError(t, got.err)
		require.Less(t, got.at, 5*time.Second, "who was given it knows nothing of it, and its lease is 30 s")
	})
}
