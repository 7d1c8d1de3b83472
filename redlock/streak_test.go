package redlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/redlock"
)

// A wait is a call of Lock on a goroutine of its own.
type wait struct {
	hold *redlatch.Hold
	err  error
	done chan struct{}
}

// waits begins a wait, and returns when the wait can go no further by itself.
func waits(ctx context.Context, lock *redlock.Lock, opts ...redlatch.Option) *wait {
	w := &wait{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.hold, w.err = lock.Lock(ctx, opts...)
	}()
	synctest.Wait()
	return w
}

// ends waits until the call has returned.
func (w *wait) ends(b *trio) {
	select {
	case <-w.done:
	case <-time.After(10 * time.Minute):
		b.Fatal("the call still waits")
	}
}

func (w *wait) got(b *trio) *redlatch.Hold {
	w.ends(b)
	require.NoError(b, w.err)
	return w.hold
}

// fields are the owners that hold the lock on the servers; empty: none holds it there.
func (b *trio) fields() (fields [3]string) {
	for i, server := range b.servers {
		if keys, err := server.HKeys(name); err == nil && len(keys) == 1 {
			fields[i] = keys[0]
		}
	}
	return fields
}

// counts returns a counter of the commands that are sent to the servers from now on.
func (b *trio) counts() *atomic.Int64 {
	n := &atomic.Int64{}
	for i := range b.harm {
		b.harm[i] = func() error { n.Add(1); return nil }
	}
	return n
}

func (b *trio) lockNow(lock *redlock.Lock, opts ...redlatch.Option) *redlatch.Hold {
	hold, err := lock.Lock(b.Context(), opts...)
	require.NoError(b, err)
	synctest.Wait() // the third server has joined
	return hold
}

func (b *trio) unlocks(hold *redlatch.Hold) {
	require.NoError(b, hold.Unlock(b.Context()))
	synctest.Wait()
}

func TestWaitersOfOneProcessHandTheLockOnWithoutACommand(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		hold := b.lockNow(lock)
		owners := b.fields()
		var queue []*wait
		for range 3 {
			queue = append(queue, waits(b.Context(), lock))
		}
		sent := b.counts()        // the first waiter has asked once more, when its subscription stood
		for _, w := range queue { // in the order in which they came
			work := hold.Context(b.Context())
			b.unlocks(hold)
			require.Error(b, work.Err(), "the work before is over")
			hold = w.got(b)
			require.True(b, hold.Valid())
			require.Equal(b, owners, b.fields())
		}
		require.Zero(b, sent.Load())
		time.Sleep(time.Minute) // it is renewed as any other
		require.True(b, hold.Valid())
		require.Equal(b, owners, b.fields())
		b.unlocks(hold)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// Other processes wait too, so a process must not keep the lock for as long as its own goroutines want it.
func TestAProcessHandsTheLockOnForABoundedTime(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		hold := b.lockNow(lock)
		second, third := waits(b.Context(), lock), waits(b.Context(), lock)
		b.unlocks(hold)
		hold = second.got(b)
		time.Sleep(3 * time.Millisecond)
		b.unlocks(hold)
		require.Equal(b, [3]string{}, b.fields(), "it is left to other processes")
		hold = third.got(b)
		b.unlocks(hold)
	})
}

// The waiter of a long section would wait for nothing most of the time, if the lock were left to others after each.
func TestTheLockIsLeftToOthersNowAndThenAfterLongSections(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		hold := b.lockNow(lock)
		left := 0
		for range 9 { // a server that confirms its release last may refuse the waiter, whose process did not have the lock then
			next := waits(b.Context(), lock)
			time.Sleep(20 * time.Millisecond)
			b.unlocks(hold)
			if b.fields() == [3]string{} {
				left++
			}
			hold = next.got(b)
		}
		b.unlocks(hold)
		require.GreaterOrEqual(b, left, 1, "it has to be left to others after 50 ms")
		require.LessOrEqual(b, left, 3, "it was left to others after each section")
	})
}

func TestOnlyACallWithTheSameTermsIsHandedTheLock(t *testing.T) {
	lease, scripted := redlatch.WithLease(20*time.Second), redlatch.WithoutLocalHandOff()
	for what, opts := range map[string][2][]redlatch.Option{
		"the holder has a lease":            {{lease}, nil},
		"the waiter has a lease":            {nil, {lease}},
		"the holder wants it confirmed":     {{scripted}, nil},
		"the waiter wants it confirmed":     {nil, {scripted}},
		"the waiter's watchdog is another":  {nil, {redlatch.WithWatchdogTimeout(20 * time.Second)}},
		"the waiter's hold is to end early": {nil, {redlatch.WithMaxHold(time.Minute)}},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(b *trio) {
				lock := b.lock()
				hold := b.lockNow(lock, opts[0]...)
				owners := b.fields()
				next := waits(b.Context(), lock, opts[1]...)
				b.unlocks(hold)
				hold = next.got(b)
				synctest.Wait()
				for i, owner := range b.fields() {
					require.NotEqual(b, owners[i], owner)
				}
				b.unlocks(hold)
				require.Equal(b, [3]string{}, b.fields())
			})
		})
	}
}

// The inner hold goes on when the outer one is given back, so the lock is not free for the next waiter.
func TestALockThatIsReenteredIsNotHandedOn(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		outer := b.lockNow(lock)
		inner, err := lock.Lock(outer.Context(b.Context()))
		require.NoError(b, err)
		synctest.Wait()
		next := waits(b.Context(), lock)
		b.unlocks(outer)
		require.True(b, inner.Valid())
		require.Equal(b, [3]string{"1", "1", "1"}, b.holds())
		select {
		case <-next.done:
			b.Fatal("two hold it")
		case <-time.After(time.Minute):
		}
		b.unlocks(inner)
		b.unlocks(next.got(b))
	})
}

func TestAWaiterWhoseContextHasEndedIsNotHandedTheLock(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		hold := b.lockNow(lock)
		ctx, cancel := context.WithCancel(b.Context())
		first, second := waits(ctx, lock), waits(b.Context(), lock)
		cancel()
		<-first.done
		require.ErrorIs(b, first.err, context.Canceled)
		require.ErrorIs(b, first.err, redlatch.ErrNotAcquired, "this process has it")
		b.unlocks(hold)
		b.unlocks(second.got(b))
		require.Equal(b, [3]string{}, b.fields())
	})
}

// A server may grant the lock after the hold that asked for it has handed it on.
func TestALateServerJoinsTheHoldThatTheLockWasHandedTo(t *testing.T) {
	inBubble(t, func(b *trio) {
		b.slow(time.Millisecond) // each command of the third server
		lock := b.lock()
		hold, err := lock.Lock(b.Context())
		require.NoError(b, err)
		next := waits(b.Context(), lock)
		require.NoError(b, hold.Unlock(b.Context()))
		hold = next.got(b)
		require.Empty(b, b.fields()[2])
		time.Sleep(time.Second)
		require.Equal(b, [3]string{"1", "1", "1"}, b.holds())
		b.servers[0].Del(name)
		time.Sleep(12 * time.Second)
		require.True(b, hold.Valid(), "two of three are left")
		require.NoError(b, hold.Unlock(b.Context()))
		time.Sleep(time.Second)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// The next holder would begin with a bare majority.
func TestALockThatHasLostAMemberIsNotHandedOn(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock(redlatch.WithWatchdogTimeout(3 * time.Millisecond * 10))
		hold := b.lockNow(lock)
		next := waits(b.Context(), lock)
		b.servers[0].Del(name)
		time.Sleep(50 * time.Millisecond)
		require.True(b, hold.Valid())
		b.unlocks(hold)
		hold = next.got(b)
		time.Sleep(time.Millisecond)
		require.Equal(b, [3]string{"1", "1", "1"}, b.holds())
		b.unlocks(hold)
	})
}

// A command of the former holder that is still under way could be executed on the hold of the next one.
func TestALockIsNotHandedOnWhileACommandOfItsHolderIsUnderWay(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.lock()
		hold := b.lockNow(lock)
		owners := b.fields()
		next := waits(b.Context(), lock)
		for i := range b.harm {
			b.harm[i] = func() error { time.Sleep(time.Millisecond); return nil }
		}
		go func() { _ = hold.Extend(b.Context(), time.Hour) }()
		synctest.Wait()
		require.NoError(b, hold.Unlock(b.Context()))
		hold = next.got(b)
		time.Sleep(time.Second)
		for i, owner := range b.fields() {
			require.NotEqual(b, owners[i], owner)
		}
		b.unlocks(hold)
		time.Sleep(time.Second)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// The lock of one server is not a lock of three.
func TestWaitersOfAnotherSetOfServersAreNotHandedTheLock(t *testing.T) {
	inBubble(t, func(b *trio) {
		lone := b.lockNow(redlock.New([]redlatch.Client{b.clients[0]}, name, briefly.Linger(0)))
		began := time.Now()
		hold := waits(b.Context(), b.lock()).got(b)
		require.Less(b, time.Since(began), time.Second, "two of three are free")
		b.unlocks(lone)
		require.Empty(b, b.fields()[0])
		b.unlocks(hold)
		require.Equal(b, [3]string{}, b.fields())
	})
}
