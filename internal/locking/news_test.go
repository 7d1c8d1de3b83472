package locking_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/locking"
)

// The next goroutine would hold beside the one in the other process, and the one before it would say that all was well.
func TestALockThatWasTakenByForceIsNotHandedOn(t *testing.T) {
	for _, by := range []string{"another process", "this process"} {
		t.Run(by, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lockOf(&plain)
				first := k.heard(b)
				second := k.wait(b, k.ctx)
				force := k.foreign()
				if by == "this process" {
					force = b
				}
				freed, err := locking.ForceUnlock(k.ctx, force)
				require.NoError(t, err)
				require.True(t, freed)
				synctest.Wait() // the message has come
				require.ErrorIs(t, first.Unlock(k.ctx), redlatch.ErrLost)
				got := <-second
				require.NoError(t, got.err)
				require.NotEqual(t, first.Owner(), got.hold.Owner())
				require.Equal(t, 1, k.count(got.hold.Owner()))
			})
		})
	}
}

func TestNobodyIsHandedALockThatAnotherProcessHasTakenByForce(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		first := k.heard(b)
		second := k.wait(b, k.ctx)
		thief := k.foreign()
		k.faults(func(op string) fault { // the waiter hears of the force too, and asks later than the thief
			if op == "handover" {
				return fault{}
			}
			return fault{before: time.Millisecond}
		})
		_, err := locking.ForceUnlock(k.ctx, thief)
		require.NoError(t, err)
		theirs, err := locking.Lock(k.ctx, thief, nil)
		require.NoError(t, err)
		synctest.Wait() // the message has come
		require.ErrorIs(t, first.Unlock(k.ctx), redlatch.ErrLost)
		time.Sleep(time.Second)
		require.True(t, theirs.Valid())
		select {
		case got := <-second:
			t.Fatalf("%v beside %s", got, theirs.Owner())
		default:
		}
		require.NoError(t, theirs.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.NoError(t, got.hold.Unlock(k.ctx))
	})
}

// The waiter has asked after the message and was refused, so it can be claimed again. What the message said has to be remembered.
func TestNobodyIsHandedALockThatAnotherProcessHasAfterItsMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		first := k.heard(b)
		second := k.wait(b, k.ctx)
		k.mini.Del(name)
		k.mini.HSet(name, "thief:1", "1")
		k.mini.Publish(keys.LockChannel(name), "0")
		synctest.Wait()
		require.ErrorIs(t, first.Unlock(k.ctx), redlatch.ErrLost)
		synctest.Wait()
		select {
		case got := <-second:
			t.Fatalf("%v beside the thief", got)
		default:
		}
		k.mini.Del(name)
		got := <-second
		require.NoError(t, got.err)
		require.NoError(t, got.hold.Unlock(k.ctx))
	})
}

// A message that is not that of a force-unlock costs a script, and what that confirms is news again.
func TestAMessageCostsOneScript(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		hold := k.heard(b)
		second, third := k.wait(b, k.ctx), k.wait(b, k.ctx)
		k.mini.Publish(keys.LockChannel(name), "0")
		time.Sleep(time.Microsecond)
		require.NoError(t, hold.Unlock(k.ctx))
		next := (<-second).hold
		require.NotEqual(t, hold.Owner(), next.Owner())
		require.NoError(t, next.Unlock(k.ctx))
		last := (<-third).hold
		require.Equal(t, next.Owner(), last.Owner())
		require.NoError(t, last.Unlock(k.ctx))
		require.Equal(t, 2, k.sent("handover"))
	})
}

func TestWithoutLocalHandOffEveryAcquisitionIsMadeInRedis(t *testing.T) {
	for what, opts := range map[string][]redlatch.Option{"New": {redlatch.WithoutLocalHandOff()}, "Lock": nil} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lockOf(&plain, opts...)
				hold := k.heard(b)
				var waiters []<-chan result
				for range 10 {
					var call []redlatch.Option
					if opts == nil {
						call = append(call, redlatch.WithoutLocalHandOff())
					}
					waiters = append(waiters, k.wait(b, k.ctx, call...))
				}
				for _, w := range waiters {
					owner := hold.Owner()
					require.NoError(t, hold.Unlock(k.ctx))
					got := <-w
					require.NoError(t, got.err)
					require.NotEqual(t, owner, got.hold.Owner())
					hold = got.hold
				}
				k.mini.Del(name)
				require.ErrorIs(t, hold.Unlock(k.ctx), redlatch.ErrLost)
				require.Equal(t, 11, k.sent("handover"))
			})
		})
	}
}

// The message of a pass tells what was so when the lock was passed. Of a deletion since then no message tells.
func TestALockThatWasPassedAWhileAgoIsNotHandedOnUnasked(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		waiter := k.anotherOf(&plain, redlatch.WithPoll(time.Minute))
		second, third := k.wait(waiter.Base, k.ctx), k.wait(waiter.Base, k.ctx)
		k.mini.Publish(keys.LockChannel(name), "0") // from now on what the process hears tells how old the news is
		time.Sleep(time.Second)
		k.slow(waiter, 3*time.Second)
		require.NoError(t, first.Unlock(k.ctx))
		time.Sleep(time.Second)
		k.mini.Del(name)
		k.mini.HSet(name, "thief:1", "1")
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, 4*time.Second, got.at)
		require.ErrorIs(t, got.hold.Unlock(k.ctx), redlatch.ErrLost)
		synctest.Wait()
		select {
		case got := <-third:
			t.Fatalf("%v beside the thief", got)
		default:
		}
		k.mini.Del(name)
		last := <-third
		require.NoError(t, last.err)
		require.NoError(t, last.hold.Unlock(k.ctx))
	})
}
