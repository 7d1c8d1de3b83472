package locking_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
	"github.com/redlatch/redlatch/internal/rootapi"
)

func TestWithinAProcessTheLockGoesFromHandToHandWithoutACommand(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		hold := k.heard(b)
		owner := hold.Owner()
		var waiters []<-chan result
		for range 100 {
			waiters = append(waiters, k.wait(b, k.ctx))
		}
		for _, w := range waiters {
			require.NoError(t, hold.Unlock(k.ctx))
			require.ErrorIs(t, hold.Unlock(k.ctx), redlatch.ErrReleased)
			require.False(t, hold.Valid())
			got := <-w
			require.NoError(t, got.err)
			require.Equal(t, owner, got.hold.Owner())
			require.Equal(t, 1, k.count(owner))
			hold = got.hold
		}
		require.NoError(t, hold.Unlock(k.ctx))
		require.Equal(t, []int{1, 1, 1}, []int{k.sent("acquire"), k.sent("handover"), k.sent("release")})
		require.False(t, k.locked())
		require.Equal(t, 102, k.told(redlatch.EventAcquired))
		require.Equal(t, 102, k.told(redlatch.EventReleased))
	})
}

// heard returns a hold that may be handed on without a command: the process was subscribed to the lock's channel before the
// script was sent by which the hold got the lock.
func (k *kit) heard(b *baselock.Base, opts ...redlatch.Option) *redlatch.Hold {
	first := k.take(b, k.ctx)
	second := k.wait(b, k.ctx, opts...)
	require.NoError(k, first.Unlock(k.ctx))
	got := <-second
	require.NoError(k, got.err)
	return got.hold
}

func TestAnHeirIsTrustedAsLongAsTheOneBeforeItAndKeptAlive(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		k.harm("handover", 1, fault{after: time.Millisecond})
		first := k.heard(b)
		second := k.wait(b, k.ctx)
		trusted := k.trusted(first)
		require.NoError(t, first.Unlock(k.ctx))
		successor := (<-second).hold
		require.Equal(t, trusted, k.trusted(successor), "nobody has asked the server")
		k.at(5 * time.Minute)
		require.True(t, successor.Valid())
		require.Equal(t, 1, k.count(successor.Owner()))
		inner := k.take(b, successor.Context(k.ctx))
		require.Equal(t, 2, k.count(successor.Owner()))
		require.NoError(t, successor.Unlock(k.ctx))
		require.NoError(t, inner.Unlock(k.ctx))
	})
}

func TestAnHeirLearnsThatTheLockIsLostInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		first := k.heard(b)
		second := k.wait(b, k.ctx)
		k.mini.Del(name)
		require.NoError(t, first.Unlock(k.ctx))
		successor := (<-second).hold
		ctx := successor.Context(k.ctx)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), redlatch.ErrLost)
		require.LessOrEqual(t, time.Since(k.start), 11*time.Second, "a third of the watchdog timeout")
	})
}

func TestWhoeverEndsARunFindsOutThatTheLockWasTakenAway(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		first := k.heard(b)
		second, third := k.wait(b, k.ctx), k.wait(b, k.ctx)
		k.mini.Del(name)
		require.NoError(t, first.Unlock(k.ctx))
		successor := (<-second).hold
		time.Sleep(5 * time.Millisecond)
		require.ErrorIs(t, successor.Unlock(k.ctx), redlatch.ErrLost)
		got := <-third
		require.NoError(t, got.err)
		require.NotEqual(t, successor.Owner(), got.hold.Owner())
		require.Equal(t, 1, k.count(got.hold.Owner()))
	})
}

func TestWhoHasOtherTermsIsNoHeir(t *testing.T) {
	for what, terms := range map[string][2][]redlatch.Option{
		"its lease is fixed":                {nil, {redlatch.WithLease(20 * time.Second)}},
		"that before it is":                 {{redlatch.WithLease(20 * time.Second)}, nil},
		"both are":                          {{redlatch.WithLease(20 * time.Second)}, {redlatch.WithLease(20 * time.Second)}},
		"its watchdog has another timeout":  {nil, {redlatch.WithWatchdogTimeout(time.Minute)}},
		"its hold may last for a time only": {nil, {redlatch.WithMaxHold(time.Minute)}},
		"so may that before it":             {{redlatch.WithMaxHold(time.Minute)}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lockOf(&plain)
				first := k.heard(b, terms[0]...)
				second := k.wait(b, k.ctx, terms[1]...)
				require.NoError(t, first.Unlock(k.ctx))
				got := <-second
				require.NoError(t, got.err)
				require.NotEqual(t, first.Owner(), got.hold.Owner())
				require.Equal(t, 2, k.sent("handover"))
			})
		})
	}
}

// What was promised to the one before it, by Extend or a re-entry with a longer lease, would be how long the others wait
// when the successor's process dies.
func TestALeaseThatIsLongerThanItsOwnIsNotInherited(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		first := k.heard(b)
		require.NoError(t, first.Extend(k.ctx, time.Hour))
		second := k.wait(b, k.ctx)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.LessOrEqual(t, k.mini.TTL(name), 30*time.Second)
		require.NoError(t, got.hold.Unlock(k.ctx))
	})
}

// A command of the one before it that is executed late would be executed on the successor.
func TestWhoIsInDoubtHasNoHeir(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		k.mini.HSet(name, "another:1", "1")
		var lose atomic.Bool
		k.faults(func(op string) fault { // round trips are long, so that a streak lasts for longer than the pause before a resend
			if op == "acquire" && lose.CompareAndSwap(true, false) {
				return fault{ghost: time.Second}
			}
			return fault{after: 50 * time.Millisecond}
		})
		first := k.wait(b, k.ctx)
		time.Sleep(time.Second)
		second := k.wait(b, k.ctx)
		time.Sleep(time.Second)
		k.mini.Publish(keys.LockChannel(name), "0") // from now on what the process hears tells how old the news is
		time.Sleep(time.Second)
		lose.Store(true)
		k.mini.Del(name)
		holder := <-first // at its next poll
		require.NoError(t, holder.err)
		require.False(t, lose.Load())
		require.NoError(t, holder.hold.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.NotEqual(t, holder.hold.Owner(), got.hold.Owner())
		time.Sleep(2 * time.Minute)
		require.True(t, got.hold.Valid())
		require.Equal(t, 1, k.count(got.hold.Owner()))
		require.NoError(t, got.hold.Unlock(k.ctx))
	})
}

// What was passed to a process has a short lease, of which its message may have taken the most.
func TestWhoIsTrustedForAShortTimeOnlyHasNoHeir(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		waiter := k.anotherOf(&plain, redlatch.WithPoll(time.Minute))
		second, third := k.wait(waiter.Base, k.ctx), k.wait(waiter.Base, k.ctx)
		k.slow(waiter, 7*time.Second)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, 7*time.Second, got.at)
		require.NoError(t, got.hold.Unlock(k.ctx))
		last := <-third
		require.NoError(t, last.err)
		require.NotEqual(t, got.hold.Owner(), last.hold.Owner())
		require.Greater(t, k.trusted(last.hold)-last.at, 20*time.Second)
	})
}

func TestAnHeirWhoLeavesIsSkipped(t *testing.T) {
	for _, early := range []bool{true, false} {
		inBubble(t, func(t *testing.T, k *kit) {
			b := k.lockOf(&plain)
			first := k.heard(b)
			ctx, cancel := context.WithCancel(k.ctx)
			second, third := k.wait(b, ctx), k.wait(b, k.ctx)
			if early {
				cancel()
				require.NoError(t, first.Unlock(k.ctx))
			} else {
				require.NoError(t, first.Unlock(k.ctx))
				cancel()
			}
			if got := <-second; got.err == nil {
				require.NoError(t, got.hold.Unlock(k.ctx))
			}
			last := <-third
			require.NoError(t, last.err)
			require.NoError(t, last.hold.Unlock(k.ctx))
			require.False(t, k.locked())
		})
	}
}

// Others get the lock after a few milliseconds, however many wait here.
func TestARunOfHeirsIsShort(t *testing.T) {
	for what, work := range map[string]time.Duration{"short work": 100 * time.Microsecond, "long work": 30 * time.Millisecond} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lockOf(&plain)
				hold := k.take(b, k.ctx)
				stop := make(chan struct{})
				for range 8 {
					go k.hog(b, stop, func() { time.Sleep(work) })
				}
				time.Sleep(time.Microsecond)
				require.NoError(t, hold.Unlock(k.ctx))
				for range 20 {
					start := time.Now()
					theirs := <-k.wait(k.foreign(), k.ctx)
					require.NoError(t, theirs.err)
					require.Less(t, time.Since(start), 11*time.Millisecond+2*work)
					require.NoError(t, theirs.hold.Unlock(k.ctx))
				}
				close(stop)
				time.Sleep(time.Second)
			})
		})
	}
}

// A waiter may leave after it has become the tenant, and before it has got the lock. The tenure is vacant then, and goes to the
// next waiter, or is given back. The watchdog looks after it meanwhile, and not longer.
func TestWhatAWaiterThatHasLeftWouldHaveGotGoesOn(t *testing.T) {
	for _, next := range []bool{true, false} {
		inBubble(t, func(t *testing.T, k *kit) {
			b := k.lockOf(&plain)
			first := k.heard(b)
			ctx, cancel := context.WithCancel(k.ctx)
			second := k.wait(b, ctx)
			var third <-chan result
			if next {
				third = k.wait(b, k.ctx)
			}
			trusted := k.trusted(first)
			require.NoError(t, locking.UnlockMissed(k.ctx, rootapi.Adopt(first), func() {
				cancel()
				require.ErrorIs(t, (<-second).err, context.Canceled)
			}))
			require.False(t, first.Valid())
			if next {
				got := <-third
				require.NoError(t, got.err)
				require.Equal(t, first.Owner(), got.hold.Owner())
				require.Equal(t, trusted, k.trusted(got.hold))
				require.NoError(t, got.hold.Unlock(k.ctx))
			}
			require.False(t, k.locked())
			renewed := k.sent("renew")
			time.Sleep(2 * time.Minute)
			require.Zero(t, k.told(redlatch.EventLost))
			require.Equal(t, renewed, k.sent("renew"), "of what nobody holds")
		})
	}
}

// Of a vacant tenure no hold is left, also for what settles its release.
func TestTheReleaseOfAVacantTenureIsSettled(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		first := k.heard(b)
		ctx, cancel := context.WithCancel(k.ctx)
		second := k.wait(b, ctx)
		k.faults(func(op string) fault { return fault{refused: op == "release"} })
		require.Error(t, locking.UnlockMissed(k.ctx, rootapi.Adopt(first), func() {
			cancel()
			require.ErrorIs(t, (<-second).err, context.Canceled)
		}))
		require.True(t, k.locked())
		k.faults(nil)
		time.Sleep(3 * time.Second)
		require.False(t, k.locked(), "its lease has a long time to go")
	})
}

// A Leave or the limit of one hold may find out that nothing is left of its tenant when the lock has gone on already.
func TestATenantThatIsNoMoreDoesNothingToTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		first := k.heard(b)
		second, third := k.wait(b, k.ctx), k.wait(b, k.ctx)
		trusted := k.trusted(first)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, first.Owner(), got.hold.Owner())
		locking.Adjust(rootapi.Adopt(first))
		require.True(t, locking.Announced(rootapi.Adopt(got.hold)))
		k.at(5 * time.Minute)
		require.True(t, got.hold.Valid())
		require.Greater(t, k.trusted(got.hold), 5*time.Minute)
		require.Equal(t, trusted, k.trusted(first), "it is not trusted for longer because another is")
		require.NoError(t, got.hold.Unlock(k.ctx))
		require.NoError(t, (<-third).hold.Unlock(k.ctx))
	})
}

// The two are not one after the other: the waiter may leave when it has been claimed, and not been given the lock yet.
func TestAnHeirWhoLeavesAtTheSameMomentLeavesNothingBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		for round := range 500 {
			hold := k.heard(b)
			ctx, cancel := context.WithCancel(k.ctx)
			second := k.wait(b, ctx)
			var third <-chan result
			if round%2 == 0 {
				third = k.wait(b, k.ctx)
			}
			done := make(chan error)
			go cancel()
			go func() { done <- hold.Unlock(k.ctx) }()
			if got := <-second; got.err == nil {
				require.NoError(t, got.hold.Unlock(k.ctx))
			}
			require.NoError(t, <-done)
			if third != nil {
				last := <-third
				require.NoError(t, last.err)
				require.True(t, last.hold.Valid())
				require.NoError(t, last.hold.Unlock(k.ctx))
			}
		}
		require.Zero(t, time.Since(k.start), "nobody waits for a holder who is not there")
		time.Sleep(time.Minute)
		require.Zero(t, k.told(redlatch.EventLost), "nobody holds who does not know it")
		require.False(t, k.locked())
	})
}
