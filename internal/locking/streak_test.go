package locking_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/locking"
)

// serve passes the lock through n waiters of this process, each of whom works for a while.
func (k *kit) serve(b *baselock.Base, n int, work time.Duration) {
	k.Helper()
	hold := k.take(b, k.ctx)
	var waiters []<-chan result
	for range n {
		waiters = append(waiters, k.wait(b, k.ctx))
	}
	for _, w := range waiters {
		time.Sleep(work)
		require.NoError(k, hold.Unlock(k.ctx))
		got := <-w
		require.NoError(k, got.err)
		hold = got.hold
	}
	require.NoError(k, hold.Unlock(k.ctx))
}

func TestHandOversInARowAreFew(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		row, longest := 0, 0
		k.faults(func(op string) fault {
			switch op {
			case "handover":
				row++
				longest = max(longest, row)
			case "release":
				row = 0
			}
			return fault{}
		})
		k.serve(k.lock(), 200, 0)
		require.Equal(t, 64, longest)
		// A release more is due to news that had the next in line ask just when it could have been given the lock.
		require.Less(t, k.sent("release"), 20)
	})
}

func TestHandOversInARowAreFewerWhereOthersWaitToo(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		row, longest, turns := 0, 0, 0
		k.faults(func(op string) fault {
			switch op {
			case "handover":
				row++
				longest = max(longest, row)
				return fault{before: time.Microsecond} // the others are back in the queue before the streak is over
			case "release":
				row = 0
			}
			return fault{}
		})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			foreign := k.foreign()
			for ; ; turns++ {
				select {
				case <-stop:
					return
				default:
				}
				h, err := locking.Lock(k.ctx, foreign, nil)
				require.NoError(t, err)
				time.Sleep(2 * time.Millisecond)
				require.NoError(t, h.Unlock(k.ctx))
				time.Sleep(time.Microsecond)
			}
		})
		time.Sleep(time.Microsecond)
		k.serve(k.lock(), 200, 0)
		close(stop)
		wg.Wait()
		require.Equal(t, 32, longest)
		require.GreaterOrEqual(t, turns, 6)
	})
}

func TestHandOversInARowAreSoon(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		k.serve(k.lock(), 12, 4*time.Millisecond)
		require.LessOrEqual(t, k.sent("handover"), 8, "at 4 and 8 ms, not at 12, and so on")
		require.NotZero(t, k.sent("handover"))
	})
}

func TestAfterARunAnotherProcessIsFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		b := k.lock()
		mine := k.take(b, k.ctx)
		next, foreign := k.wait(b, k.ctx), k.wait(k.foreign(), k.ctx)
		time.Sleep(10 * time.Millisecond)
		k.harm("query", 1, fault{before: time.Millisecond}) // the round trip by which this process stands back
		require.NoError(t, mine.Unlock(k.ctx))
		theirs := <-foreign
		require.NoError(t, theirs.err)
		require.Equal(t, 10*time.Millisecond, theirs.at, "woken by the release's message")
		select {
		case <-next:
			t.Fatal("two hold")
		case <-time.After(time.Second):
		}
		require.NoError(t, theirs.hold.Unlock(k.ctx))
		require.NoError(t, (<-next).err)
	})
}

// A deletion sends no message: only the age of what Redis confirmed last ends the hand-offs. All of a round trip is the way back here, so
// Redis confirms at the moment of the send, which is as early as it can be.
func TestALockThatWasDeletedIsHandedOnForTwoRoundTripsAtMost(t *testing.T) {
	for trip, longest := range map[time.Duration]time.Duration{
		26 * time.Millisecond:  52 * time.Millisecond,
		41 * time.Millisecond:  82 * time.Millisecond,
		400 * time.Millisecond: 100 * time.Millisecond,
	} {
		t.Run(trip.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				time.Sleep(3 * time.Second) // the trips of the kit are forgotten
				deleted, releases := time.Time{}, 0
				plan := func(op string) fault {
					if op != "release" {
						return fault{after: trip}
					}
					if releases++; releases == 3 { // one that has the next waiter of this process hold
						deleted = time.Now().Add(time.Nanosecond)
						time.AfterFunc(time.Nanosecond, func() { k.mini.Del(name) })
					}
					return fault{after: trip}
				}
				k.faults(plan)
				b := k.lockOf(&plain)
				hold := k.take(b, k.ctx)
				var waiters []<-chan result
				for range 200 {
					waiters = append(waiters, k.wait(b, k.ctx))
				}
				time.Sleep(10 * trip)
				last := time.Time{}
				for _, w := range waiters {
					_ = hold.Unlock(k.ctx) // one of them is the first to hear that it is lost
					got := <-w
					require.NoError(t, got.err)
					if !deleted.IsZero() && got.hold.Owner() == hold.Owner() && k.count(hold.Owner()) == 0 {
						last = time.Now()
					}
					hold = got.hold
					time.Sleep(time.Millisecond)
				}
				_ = hold.Unlock(k.ctx)
				if trip < longest {
					require.False(t, last.IsZero(), "somebody was handed what had been deleted, or the test shows nothing")
				}
				require.LessOrEqual(t, last.Sub(deleted), longest)
			})
		})
	}
}
