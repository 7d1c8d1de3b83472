package locking_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
)

func TestWhoWaitsNoLongerSitsInNoRow(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		waiter := k.another()
		second := k.wait(waiter.Base, ctx)
		third := k.wait(waiter.Base, k.ctx)
		cancel()
		require.ErrorIs(t, (<-second).err, context.Canceled)
		synctest.Wait()
		require.EqualValues(t, 1, k.seats(), "another of the process waits")
		time.Sleep(time.Microsecond) // or the order is that of the names
		fourth := k.wait(k.another().Base, k.ctx)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-third
		require.NoError(t, got.err, "in the seat of the one who left")
		require.NoError(t, got.hold.Unlock(k.ctx))
		require.NoError(t, (<-fourth).err)
		require.Zero(t, k.seats())

		ctx, cancel = context.WithCancel(k.ctx)
		last := k.wait(waiter.Base, ctx)
		require.EqualValues(t, 1, k.seats())
		cancel()
		require.Error(t, (<-last).err)
		synctest.Wait()
		require.Zero(t, k.seats())
	})
}

// The question is on its way when its waiter leaves. Its seat was in the row before, and is passed the lock.
func TestALockThatCameToAQuestionWhoseWaiterHasLeftIsGivenBack(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		second := k.wait(k.another().Base, ctx)
		asked := k.sent("acquire")
		k.faults(func(op string) fault {
			if op == "acquire" {
				return fault{before: 2 * time.Second}
			}
			return fault{}
		})
		k.at(3500 * time.Millisecond) // beyond a poll
		require.Greater(t, k.sent("acquire"), asked)
		cancel()
		require.ErrorIs(t, (<-second).err, context.Canceled)
		require.NoError(t, first.Unlock(k.ctx))
		k.at(6 * time.Second) // within the lease of a pass
		require.False(t, k.locked())
		require.Zero(t, k.seats())
	})
}

func TestWhoNeverAsksAgainSitsInTheRow(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		second := k.wait(k.another().Base, k.ctx, redlatch.WithPoll(math.MaxInt64))
		require.EqualValues(t, 1, k.seats())
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.NoError(t, got.hold.Unlock(k.ctx))
	})
}

// Whoever leaves while the lock is on its way to it gives it back, however the two meet.
func TestAWaiterWhoLeavesKeepsNobodyFromTheLock(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond} {
		for _, slow := range []string{"release", "acquire", "none"} {
			t.Run(fmt.Sprint(slow, delay), func(t *testing.T) {
				inBubble(t, func(t *testing.T, k *kit) {
					first := k.take(k.lock(), k.ctx)
					ctx, cancel := context.WithCancel(k.ctx)
					second := k.wait(k.another().Base, ctx)
					k.faults(func(op string) fault {
						if op == slow {
							return fault{before: 2 * time.Millisecond, after: 2 * time.Millisecond}
						}
						return fault{}
					})
					go func() { _ = first.Unlock(k.ctx) }()
					time.Sleep(delay)
					cancel()
					if got := <-second; got.err == nil {
						require.NoError(t, got.hold.Unlock(k.ctx))
					}
					time.Sleep(50 * time.Millisecond)
					require.False(t, k.locked())
					require.Zero(t, k.seats())
				})
			})
		}
	}
}

// The waiter may leave when it has been claimed for what its process was passed, and not been given it yet.
func TestAWaiterWhoLeavesAtTheMomentOfThePassLeavesNothingBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		mine, theirs := k.lock(), k.another().Base
		for round := range 1000 {
			first := k.take(mine, k.ctx)
			ctx, cancel := context.WithCancel(k.ctx)
			second := k.wait(theirs, ctx)
			done := make(chan error)
			go func() { done <- first.Unlock(k.ctx) }()
			go func() {
				for range round % 200 { // the message takes a few turns of the scheduler
					runtime.Gosched()
				}
				cancel()
			}()
			if got := <-second; got.err == nil {
				require.NoError(t, got.hold.Unlock(k.ctx))
			}
			require.NoError(t, <-done)
			synctest.Wait()
			require.False(t, k.locked())
			require.Zero(t, k.seats())
		}
	})
}

func TestADeadProcessIsPassedNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		k.sit("dead:1", time.Minute) // its connection has ended
		sat := time.Since(k.start)
		second := k.wait(k.another().Base, k.ctx)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, sat, got.at)
		require.Zero(t, k.seats())
	})
}

func TestAProcessThatHasNotAskedForLongIsPassedNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		k.sit("silent:1", time.Second)
		k.listen("silent")
		second := k.wait(k.another().Base, k.ctx)
		k.at(2 * time.Second)
		require.NoError(t, first.Unlock(k.ctx))
		require.Equal(t, 2*time.Second, (<-second).at)
	})
}

// The server does not know that the machine is gone.
func TestAProcessThatDiesUnnoticedStopsTheOthersForTheLeaseOfAPass(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		for i := range 5 {
			session := fmt.Sprint("dead", i)
			k.sit(session+":1", 6*time.Second)
			k.listen(session)
		}
		second := k.wait(k.another().Base, k.ctx)
		require.NoError(t, first.Unlock(k.ctx))
		require.True(t, k.locked())
		got := <-second
		require.NoError(t, got.err)
		require.Greater(t, got.at, 10*time.Second)
		require.LessOrEqual(t, got.at, 11*time.Second, "once, not for each of them")
		require.NoError(t, got.hold.Unlock(k.ctx))
		require.False(t, k.locked())
	})
}

// sit has a process sit in the row that is not one of the test's.
func (k *kit) sit(owner string, patience time.Duration) {
	k.Helper()
	row := keys.LockRow(name)
	alive := strings.Replace(row, "row", "alive", 1)
	time.Sleep(time.Microsecond) // or the order is that of the names
	now := time.Now()
	require.NoError(k, k.honest.ZAdd(k.ctx, row, redis.Z{Member: owner, Score: float64(now.UnixMicro())}).Err())
	require.NoError(k, k.honest.ZAdd(k.ctx, alive, redis.Z{Member: owner, Score: float64(now.Add(patience).UnixMilli())}).Err())
	k.honest.PExpire(k.ctx, row, time.Minute)
	k.honest.PExpire(k.ctx, alive, time.Minute)
	time.Sleep(time.Microsecond)
}

// listen keeps the ear of a process that does not react.
func (k *kit) listen(session string) {
	k.Helper()
	ear := k.honest.Subscribe(k.ctx, keys.LockRow(name)+":"+session)
	_, err := ear.Receive(k.ctx)
	require.NoError(k, err)
	go func() {
		for {
			if _, err := ear.Receive(k.ctx); err != nil {
				return
			}
		}
	}()
	k.Cleanup(func() { _ = ear.Close() })
}

// A waiter that wants another lease than a pass gives is told when its turn comes, and asks.
func TestWhoCannotBePassedTheLockIsTold(t *testing.T) {
	for what, opts := range map[string][]redlatch.Option{
		"a fixed lease":            {redlatch.WithLease(30 * time.Second)},
		"a short watchdog timeout": {redlatch.WithWatchdogTimeout(5 * time.Second)},
		"a short time to hold":     {redlatch.WithMaxHold(time.Second)},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				first := k.take(k.lock(), k.ctx)
				second := k.wait(k.another(opts...).Base, k.ctx)
				require.EqualValues(t, 1, k.seats())
				require.NoError(t, first.Unlock(k.ctx))
				got := <-second
				require.NoError(t, got.err)
				require.Zero(t, got.at)
				require.LessOrEqual(t, k.mini.TTL(name)-k.trusted(got.hold), 302*time.Millisecond, "no lease reaches further")
			})
		})
	}
}

// The lock is passed on without a message that its waiters could hear, and they are not subscribed yet when it is free.
func TestWhoComesWhileTheLockIsPassedElsewhereIsNotLeftAsleep(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		mine, theirs := k.another().Base, k.another().Base
		first := k.take(mine, k.ctx)
		second := k.wait(theirs, k.ctx)
		k.harm("release", 1, fault{before: time.Millisecond, after: time.Millisecond})
		k.far(5 * time.Millisecond)
		released := make(chan error, 1)
		go func() { released <- first.Unlock(k.ctx) }()
		synctest.Wait()
		third := k.wait(mine, k.ctx)
		got := <-second
		require.NoError(t, got.err)
		require.NoError(t, <-released)
		require.NoError(t, got.hold.Unlock(k.ctx))
		got = <-third
		require.NoError(t, got.err)
		require.Less(t, got.at, 10*time.Millisecond)
	})
}

// Of both names a prefix and braces make the same, and one is in the other's hash slot.
func TestALockIsNotPassedToWhoWaitsForOneOfASimilarName(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		similar := func(client *redis.Client) *baselock.Base {
			return baselock.New(client, "{"+name+"}", &plain, []redlatch.Option{briefly.Linger(0), confirmed})
		}
		first, other := k.take(k.lock(), k.ctx), k.take(similar(k.honest), k.ctx)
		second := k.wait(similar(k.another().client), k.ctx)
		require.NoError(t, first.Unlock(k.ctx))
		synctest.Wait()
		require.Empty(t, second, "somebody has what it waits for")
		require.False(t, k.locked())
		require.NoError(t, other.Unlock(k.ctx))
		require.NoError(t, (<-second).err)
	})
}

// A fixed lease has to be the whole lease, and what was passed has a shorter one.
func TestAWaiterWithAFixedLeaseIsNotGivenWhatItsProcessWasPassed(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		ctx, cancel := context.WithCancel(k.ctx)
		waiter := k.another()
		second := k.wait(waiter.Base, ctx)
		third := k.wait(waiter.Base, k.ctx, redlatch.WithLease(time.Minute))
		cancel()
		require.Error(t, (<-second).err)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-third
		require.NoError(t, got.err)
		require.Zero(t, got.at)
		require.Greater(t, k.trusted(got.hold), 58*time.Second)
	})
}

// Trust counts from the moment at which the server passed the lock. The time of WithMaxHold counts from the moment at which the
// waiter holds, and a message that is late may put seconds between the two.
func TestTheTimeToHoldBeginsWhenTheMessageOfThePassIsRead(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		first := k.take(k.lock(), k.ctx)
		waiter := k.another(redlatch.WithPoll(time.Hour), redlatch.WithMaxHold(10*time.Second))
		second := k.wait(waiter.Base, k.ctx)
		k.slow(waiter, 3*time.Second)
		released := time.Since(k.start)
		require.NoError(t, first.Unlock(k.ctx))
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, released+3*time.Second, got.at)
		k.slow(waiter, 0)
		time.Sleep(9 * time.Second)
		require.True(t, got.hold.Valid())
		<-got.hold.Context(k.ctx).Done()
		require.LessOrEqual(t, time.Since(k.start)-got.at, 10*time.Second)
	})
}

func TestAReleaseWakesOneProcessWhateverItsLease(t *testing.T) {
	inBubble(t, func(t *testing.T, k *kit) {
		hold := k.take(k.lock(), k.ctx)
		var waiters []<-chan result
		for range 8 {
			waiters = append(waiters, k.wait(k.another().Base, k.ctx, redlatch.WithLease(30*time.Second)))
			time.Sleep(time.Microsecond) // or the order is that of the names
		}
		require.EqualValues(t, len(waiters), k.seats())
		for i, next := range waiters {
			asked := k.sent("acquire")
			require.NoError(t, hold.Unlock(k.ctx))
			got := <-next
			require.NoError(t, got.err)
			synctest.Wait()
			require.Equal(t, 1, k.sent("acquire")-asked, "the process whose turn it is asks")
			require.EqualValues(t, len(waiters)-i-1, k.seats())
			hold = got.hold
		}
		require.Less(t, time.Since(k.start), time.Millisecond)
	})
}

// The process that was told has a question on its way when its waiter leaves. What it was told is told to the others.
func TestAWaiterThatLeavesAfterItWasToldTellsTheOthers(t *testing.T) {
	for what, late := range map[string]fault{
		"before its question is executed":         {before: 10 * time.Millisecond},
		"after its question has brought the lock": {after: 10 * time.Millisecond},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, k *kit) {
				first := k.take(k.lock(), k.ctx)
				ctx, cancel := context.WithCancel(k.ctx)
				second := k.wait(k.another().Base, ctx, redlatch.WithLease(30*time.Second))
				time.Sleep(time.Microsecond)
				third := k.wait(k.another().Base, k.ctx, redlatch.WithLease(30*time.Second))
				k.harm("acquire", 1, late)
				require.NoError(t, first.Unlock(k.ctx))
				synctest.Wait()
				cancel()
				require.ErrorIs(t, (<-second).err, context.Canceled)
				got := <-third
				require.NoError(t, got.err)
				require.Less(t, got.at, time.Second, "a poll interval is longer")
			})
		})
	}
}
