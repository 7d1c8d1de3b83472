package redlock_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
)

// noPause is less than the shortest pause between two rounds. A vote may come before the others are given back; then they are asked again.
const noPause = 10 * time.Millisecond

// far is the lock of another process, whose commands to each server take so long to arrive.
func (b *trio) far(delays [3]time.Duration) *redlock.Lock {
	var clients []redlatch.Client
	for i, server := range b.servers {
		options := redistest.InMemoryOptions(server)
		options.Addr = b.clients[i].Options().Addr
		client := redis.NewClient(options)
		b.Cleanup(func() { _ = client.Close() })
		client.AddHook(hook(func() error { time.Sleep(delays[i]); return nil }))
		clients = append(clients, client)
	}
	return redlock.New(clients, name, briefly.Linger(0))
}

func TestProcessesAreServedInTheOrderInWhichTheyCame(t *testing.T) {
	inBubble(t, func(b *trio) {
		const processes = 4
		hold := b.lockNow(b.lock())
		var waiters [processes]*wait
		var sent [processes]func() int64
		for i := range processes {
			lock, asked := b.another()
			waiters[i] = waits(b.Context(), lock)
			sent[i] = func() int64 { return asked[0].Swap(0) + asked[1].Swap(0) + asked[2].Swap(0) }
			time.Sleep(10 * time.Millisecond)
		}
		for i, w := range waiters {
			for _, sent := range sent[i:] {
				sent()
			}
			released := time.Now()
			b.unlocks(hold)
			hold = w.got(b)
			require.Less(b, time.Since(released), noPause)
			require.NotZero(b, sent[i](), "it has the first server's vote, and asks the others")
			for _, sent := range sent[i+1:] {
				require.Zero(b, sent(), "a process was woken whose turn it is not")
			}
		}
		b.unlocks(hold)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// A process that releases and asks again is faster than one that is woken. It would get all but the first server each time.
func TestANewcomerLeavesTheLockToTheProcessWhoseTurnItIs(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.far([3]time.Duration{time.Millisecond, time.Millisecond, time.Millisecond})
		hold := b.lockNow(lock)
		turn := waits(b.Context(), b.far([3]time.Duration{0, 2 * time.Millisecond, 2 * time.Millisecond}))
		time.Sleep(10 * time.Millisecond)
		b.unlocks(hold)
		newcomer := waits(b.Context(), lock)
		hold = turn.got(b)
		require.Nil(b, newcomer.hold)
		b.unlocks(hold)
		b.unlocks(newcomer.got(b))
		time.Sleep(time.Second)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// A try is for those who do not wait. What the first server has may be left of a process that has died.
func TestATryTakesAMajorityWithoutTheFirstServer(t *testing.T) {
	inBubble(t, func(b *trio) {
		stale := b.on(0)
		hold, err := b.lock().TryLock(b.Context())
		require.NoError(b, err)
		b.unlocks(hold)
		require.NoError(b, stale.Unlock(b.Context()))
	})
}

// The other servers may be with a newcomer, which gives them back within a round trip.
func TestAVoteIsNotGivenBackAtTheFirstRefusalOfTheOthers(t *testing.T) {
	inBubble(t, func(b *trio) {
		first, second, third := b.on(0), b.on(1), b.on(2)
		w := waits(b.Context(), b.lock())
		time.Sleep(time.Second)
		require.NoError(b, first.Unlock(b.Context()))
		time.Sleep(time.Millisecond)
		require.NoError(b, second.Unlock(b.Context()))
		require.NoError(b, third.Unlock(b.Context()))
		free := time.Now()
		hold := w.got(b)
		require.Less(b, time.Since(free), noPause)
		b.unlocks(hold)
	})
}

// Else nobody could have the first server until the others are free.
func TestAVoteIsGivenBackWhenTheOthersGoOnRefusing(t *testing.T) {
	inBubble(t, func(b *trio) {
		first, second, third := b.on(0), b.on(1), b.on(2)
		w := waits(b.Context(), b.lock())
		time.Sleep(time.Second)
		client := redis.NewClient(redistest.InMemoryOptions(b.servers[0]))
		b.Cleanup(func() { _ = client.Close() })
		next := rlock.New(client, name, briefly.Linger(0))
		require.NoError(b, first.Unlock(b.Context()))
		for range 3 {
			hold, err := next.Lock(b.Context(), redlatch.WithWait(time.Second))
			require.NoError(b, err)
			require.NoError(b, hold.Unlock(b.Context()))
		}
		require.NoError(b, second.Unlock(b.Context()))
		require.NoError(b, third.Unlock(b.Context()))
		b.unlocks(w.got(b))
		time.Sleep(time.Second)
		require.Equal(b, [3]string{}, b.fields())
	})
}

func TestAWaiterThatLeavesKeepsItsTurnFromNobody(t *testing.T) {
	inBubble(t, func(b *trio) {
		hold := b.lockNow(b.lock())
		ctx, cancel := context.WithCancel(b.Context())
		theirs, _ := b.another()
		first := waits(ctx, theirs)
		others, _ := b.another()
		second := waits(b.Context(), others)
		cancel()
		<-first.done
		require.ErrorIs(b, first.err, context.Canceled)
		synctest.Wait()
		released := time.Now()
		b.unlocks(hold)
		hold = second.got(b)
		require.Less(b, time.Since(released), noPause)
		b.unlocks(hold)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// That the first server is out of reach does not look as if it had the call wait.
func TestAMajorityOutOfReachIsNoRefusalForAWaiter(t *testing.T) {
	inBubble(t, func(b *trio) {
		theirs, _ := b.another()
		hold := b.lockNow(theirs)
		w := waits(b.Context(), b.lock(redlatch.WithOutage(2*time.Second)))
		time.Sleep(time.Second)
		broken := func() error { return io.ErrUnexpectedEOF }
		b.harms(0, broken)
		b.harms(1, broken)
		began := time.Now()
		w.ends(b)
		require.ErrorIs(b, w.err, redlatch.ErrUnavailable)
		require.NotErrorIs(b, w.err, redlatch.ErrNotAcquired)
		require.Less(b, time.Since(began), 10*time.Second, "the first server's queue is looked at every 3 s")
		b.harms(0, nil)
		b.harms(1, nil)
		b.unlocks(hold)
		time.Sleep(2 * time.Minute) // what is in doubt is settled
		require.Equal(b, [3]string{}, b.fields())
	})
}

// The round that the end of the wait cuts off has found out nothing; the one before it was refused.
func TestAWaitThatEndsInTheMiddleOfARoundIsARefusal(t *testing.T) {
	inBubble(t, func(b *trio) {
		theirs, _ := b.another()
		hold := b.lockNow(theirs)
		var refused atomic.Bool
		slow := func() error {
			if refused.Load() {
				time.Sleep(20 * time.Second)
			}
			return nil
		}
		for i := range b.harm {
			b.harms(i, slow)
		}
		time.AfterFunc(time.Second, func() { refused.Store(true) })
		_, err := b.lock().Lock(b.Context(), redlatch.WithWait(10*time.Second), redlock.WithNodeTimeout(time.Minute))
		require.ErrorIs(b, err, redlatch.ErrNotAcquired)
		require.NotErrorIs(b, err, redlatch.ErrUnavailable)
		for i := range b.harm {
			b.harms(i, nil)
		}
		b.unlocks(hold)
		time.Sleep(2 * time.Minute) // what is in doubt is settled
		require.Equal(b, [3]string{}, b.fields())
	})
}

// The first server would grant it to nobody, and renew it.
func TestAWaiterThatFailsStandsInNoQueue(t *testing.T) {
	inBubble(t, func(b *trio) {
		theirs, _ := b.another()
		hold := b.lockNow(theirs)
		w := waits(b.Context(), b.lock())
		time.Sleep(100 * time.Millisecond)
		b.harms(1, forbidden)
		b.harms(2, forbidden)
		w.ends(b)
		require.ErrorContains(b, w.err, "NOPERM")
		b.unlocks(hold)
		require.Equal(b, [3]string{}, b.fields())
	})
}

// Whichever of them answers first: two of three do not know who has the lock.
func TestAMajorityOutOfReachIsNoRefusalForATry(t *testing.T) {
	inBubble(t, func(b *trio) {
		busy := b.on(2)
		broken := func() error { return io.ErrUnexpectedEOF }
		b.harms(0, broken)
		b.harms(1, broken)
		for range 20 {
			_, err := b.lock(redlatch.WithOutage(time.Millisecond)).TryLock(b.Context())
			require.ErrorIs(b, err, redlatch.ErrUnavailable)
			require.NotErrorIs(b, err, redlatch.ErrNotAcquired)
		}
		require.NoError(b, busy.Unlock(b.Context()))
		b.harms(0, nil)
		b.harms(1, nil)
		time.Sleep(2 * time.Minute) // what is in doubt is settled
	})
}

// A caller that has the lock for itself needs one round trip. It takes two, once, after it was handed the lock by another process.
func TestOnlyACallerThatMeetsOthersAsksTheFirstServerFirst(t *testing.T) {
	inBubble(t, func(b *trio) {
		lock := b.far([3]time.Duration{time.Millisecond, time.Millisecond, time.Millisecond})
		hold := b.lockNow(b.lock())
		w := waits(b.Context(), lock)
		time.Sleep(100 * time.Millisecond)
		b.unlocks(hold)
		b.unlocks(w.got(b))
		time.Sleep(time.Second)
		for _, trips := range []int{2, 1, 1} {
			began := time.Now()
			hold, err := lock.Lock(b.Context())
			require.NoError(b, err)
			require.Equal(b, time.Duration(trips)*time.Millisecond, time.Since(began))
			b.unlocks(hold)
			time.Sleep(time.Second)
		}
	})
}

// A counted is a context that counts what waits for its end.
type counted struct {
	context.Context
	done chan struct{}
	live atomic.Int64
}

func (c *counted) Done() <-chan struct{} { return c.done }

// AfterFunc is called by package context for each context that is made of this one.
func (c *counted) AfterFunc(func()) (stop func() bool) {
	c.live.Add(1)
	return func() bool { return c.live.Add(-1) >= 0 }
}

// A program may wait with one context for as long as it runs.
func TestAWaitLeavesNothingInTheCallersContext(t *testing.T) {
	inBubble(t, func(b *trio) {
		ctx := &counted{Context: context.Background(), done: make(chan struct{})}
		lock, theirs := b.lock(), b.far([3]time.Duration{})
		hold := b.lockNow(theirs)
		w := waits(ctx, lock)
		time.Sleep(time.Second)
		b.unlocks(hold)
		hold = w.got(b)
		b.unlocks(hold)
		synctest.Wait()
		require.Zero(b, ctx.live.Load())
	})
}
