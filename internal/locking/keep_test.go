package locking_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/locking"
)

// A section that is longer than a streak would else end with three round trips: a release, a look, and a question.
func TestTheEndOfAStreakIsOneScript(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		hold := k.heard(b)
		for range 3 {
			next := k.wait(b, k.ctx)
			time.Sleep(20 * time.Millisecond)
			before, owner := k.allSent(), hold.Owner()
			require.NoError(t, hold.Unlock(k.ctx))
			got := <-next
			require.NoError(t, got.err)
			require.Equal(t, time.Since(k.start), got.at)
			require.Equal(t, 1, k.allSent()-before)
			require.NotEqual(t, owner, got.hold.Owner(), "a late copy of the release would take it away")
			require.Equal(t, 1, k.count(got.hold.Owner()))
			require.Greater(t, k.trusted(got.hold)-got.at, 29*time.Second)
			hold = got.hold
		}
		require.NoError(t, hold.Unlock(k.ctx))
	})
}

// allSent is how many scripts there were, renewals aside.
func (k *kit) allSent() int {
	return k.sent("acquire") + k.sent("release") + k.sent("handover") + k.sent("query")
}

func TestAWaiterWithAFixedLeaseHasAllOfItAtTheEndOfAStreak(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		hold := k.take(b, k.ctx)
		next := k.wait(b, k.ctx, redlatch.WithLease(time.Minute))
		time.Sleep(20 * time.Millisecond)
		require.NoError(t, hold.Unlock(k.ctx))
		got := <-next
		require.NoError(t, got.err)
		require.Equal(t, 20*time.Millisecond, got.at)
		require.Greater(t, k.trusted(got.hold)-got.at, 58*time.Second)
		require.NoError(t, got.hold.Unlock(k.ctx))
	})
}

func TestTheNextOfAStreakMayLeaveWhileItIsPromisedTheLock(t *testing.T) {
	for _, another := range []bool{true, false} {
		inBubble(t, func(t *testing.T, k *kit) {
			b := k.lockOf(&plain)
			hold := k.take(b, k.ctx)
			ctx, cancel := context.WithCancel(k.ctx)
			leaver := k.wait(b, ctx)
			var third <-chan result
			if another {
				third = k.wait(b, k.ctx)
			}
			time.Sleep(20 * time.Millisecond)
			k.harm("release", 1, fault{before: 2 * time.Millisecond})
			time.AfterFunc(time.Millisecond, cancel)
			require.NoError(t, hold.Unlock(k.ctx))
			require.ErrorIs(t, (<-leaver).err, context.Canceled)
			if another {
				got := <-third
				require.NoError(t, got.err)
				require.Less(t, got.at, 30*time.Millisecond)
				require.NoError(t, got.hold.Unlock(k.ctx))
			}
			time.Sleep(10 * time.Millisecond)
			require.False(t, k.locked())
		})
	}
}

func TestWhoWasPromisedTheLockByAReleaseOfUnknownOutcomeHasItOnce(t *testing.T) {
	for what, c := range map[string]struct {
		fault fault
		err   error
	}{
		"its answer is lost, and the next send finds the lock kept": {fault{lost: true}, nil},
		"it is executed, and answered too late":                     {fault{after: 2 * time.Second}, redlatch.ErrUncertain},
		"it is executed after its sender gave up":                   {fault{ghost: 3 * time.Second, lost: true}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				b := k.lockOf(&plain, redlatch.WithReleaseTimeout(500*time.Millisecond), redlatch.WithPoll(time.Second))
				hold := k.take(b, k.ctx)
				next := k.wait(b, k.ctx)
				time.Sleep(20 * time.Millisecond)
				k.harm("release", 1, c.fault)
				err := hold.Unlock(k.ctx)
				require.True(t, errors.Is(err, c.err), "%v", err)
				got := <-next
				require.NoError(t, got.err)
				require.Less(t, got.at, 3*time.Second)
				time.Sleep(2 * time.Minute)
				require.True(t, got.hold.Valid())
				require.Equal(t, 1, k.count(got.hold.Owner()))
				require.NoError(t, got.hold.Unlock(k.ctx))
				require.False(t, k.locked())
			})
		})
	}
}

// A process that only polls is in no process queue and listens to nothing. It would never find a lock free that is handed on again and
// again.
func TestATryOfAnotherProcessSucceedsBesideALockThatIsNeverFree(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b, other := k.lockOf(&plain), k.foreign()
		stop := make(chan struct{})
		for range 4 {
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if h, err := locking.Lock(k.ctx, b, nil); err == nil {
						time.Sleep(100 * time.Microsecond)
						_ = h.Unlock(k.ctx)
					}
				}
			}()
		}
		turns, worst, last := 0, time.Duration(0), time.Now()
		for time.Since(k.start) < 5*time.Second {
			time.Sleep(time.Millisecond)
			if h, err := locking.TryLock(k.ctx, other, nil); err == nil {
				worst, last = max(worst, time.Since(last)), time.Now()
				turns++
				require.NoError(t, h.Unlock(k.ctx))
			}
		}
		close(stop)
		time.Sleep(time.Second)
		require.Less(t, worst, 300*time.Millisecond)
		require.GreaterOrEqual(t, turns, 15)
	})
}

// The first in the process queue may be the process that releases, of which a call waits there.
func TestAProcessThatTellsItselfLeavesTheLockToNobodyElse(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lockOf(&plain)
		kept := k.take(b, k.ctx, redlatch.WithAtLeast(50*time.Millisecond))
		require.NoError(t, kept.Unlock(k.ctx))
		next := k.wait(b, k.ctx, redlatch.WithLease(time.Minute)) // it cannot be passed the lock, but is told
		got := <-next
		require.NoError(t, got.err)
		require.NoError(t, got.hold.Unlock(k.ctx))
		again, err := locking.TryLock(k.ctx, b, nil)
		require.NoError(t, err)
		require.NoError(t, again.Unlock(k.ctx))
	})
}
