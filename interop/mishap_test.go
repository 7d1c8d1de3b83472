package interop_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/permitsemaphore"
)

// What happens to an object behind the backs of both sides, or by the other side's hand, and who learns of it.

// A key that is deleted by hand frees the lock without a message: the holder learns at its next check, and whoever waits
// asks again when the lease that it saw is over, or when it polls.
func TestADeletedKeyIsALossForTheHolderAndAChanceForWhoeverWaits(t *testing.T) {
	w := singleWorld(t)
	for _, k := range append([]kind{{"read", single}, {"group", single}}, kinds...) {
		if k.has&single == 0 {
			continue
		}
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			quickBothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object(k.kind)
				other := o
				if o.kind == "read" {
					other.kind = "write"
				}
				require.NoError(t, first.lock(o, how{}))
				got := start(func() error { return second.lock(other, how{}) })
				w.awaitSleeper(t, other, second)
				require.NoError(t, w.client.Del(t.Context(), o.name).Err())
				deleted := time.Now()
				await(t, "the lock", got)
				require.Less(t, time.Since(deleted), soon)
				eventually(t, "the holder to learn", func() bool { return !first.held(o) })
				require.ErrorIs(t, first.unlock(o), errNotOwner)
				require.True(t, second.held(other))
				require.NoError(t, second.unlock(other))
			})
		})
	}
}

// What the other side frees by force wakes whoever waits, and the holder learns. Redisson's group says that it has done
// something only of a single value.
func TestForceFreesReadersAndGroupsOfTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	for _, kind := range []string{"read", "group"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			quickBothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object(kind)
				if kind == "group" {
					o.names = "Jack_001"
				}
				other := o
				if kind == "read" {
					other.kind = "write"
				}
				require.NoError(t, first.lock(o, how{}))
				waiter := w.sameSide(t, first)
				got := start(func() error { return waiter.lock(other, how{}) })
				w.awaitSleeper(t, other, waiter)
				was, err := second.forceUnlock(o)
				require.NoError(t, err)
				require.True(t, was)
				await(t, "the lock", got)
				if kind != "group" || first.side() == "Go" { // Redisson's isHeldByThread leaves the first value out
					eventually(t, "the holder to learn", func() bool { return !first.held(o) })
				}
				require.ErrorIs(t, first.unlock(o), errNotOwner)
				require.NoError(t, waiter.unlock(other))
				eventually(t, "no marker of the reader", func() bool { return len(w.keys(t, o)) == 0 })
			})
		})
	}
}

// With the semaphore go its permits: whoever has some in Go learns, and in Java they cannot be released any more.
func TestPermitsGoWithTheirSemaphoreWhicheverSideDeletesIt(t *testing.T) {
	w := singleWorld(t)
	for name, remove := range map[string]func(actor, object) (bool, error){
		"deleted": func(a actor, o object) (bool, error) { return a.remove(o) },
		"expired": func(a actor, o object) (bool, error) { return a.expire(o, 50*time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			quickBothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object("permits")
				_, err := first.setUp(o, 1)
				require.NoError(t, err)
				kept := w.quickGo(t).(*goActor)
				permit, err := permitsemaphore.New(kept.client, o.name, kept.opts...).Acquire(t.Context(), 1)
				require.NoError(t, err)
				was, err := second.remove(o)
				require.NoError(t, err)
				require.True(t, was)
				select {
				case <-permit.Context(t.Context()).Done():
				case <-time.After(patience):
					t.Fatal("Go did not notice")
				}
				require.ErrorIs(t, permit.Release(t.Context()), redlatch.ErrLost)

				_, err = first.setUp(o, 2)
				require.NoError(t, err)
				ids, err := first.acquire(o, 1, how{})
				require.NoError(t, err)
				was, err = remove(second, o)
				require.NoError(t, err)
				require.True(t, was)
				eventually(t, "its end", func() bool { return len(w.keys(t, o)) == 0 })
				require.ErrorIs(t, first.release(o, 1, ids), errNotOwner)
				got := start(func() error { _, err := first.acquire(o, 1, how{}); return err })
				w.awaitWaiter(t, o)
				require.NoError(t, second.setTotal(o, 1))
				await(t, "a permit of the new one", got)
				require.Zero(t, available(t, second, o))
			})
		})
	}
}

// A latch that Go has given a TTL is gone by itself, of which nobody is told. Go's waiters look; Java's wait on.
func TestALatchThatExpiresEndsTheWaitOfGoOnly(t *testing.T) {
	w := singleWorld(t)
	cases.Add(1)
	o, java, quick := w.object("latch"), w.java(t), w.pollingGo(t, time.Second).(*goActor)
	set, err := countdownlatch.New(quick.client, o.name, quick.opts...).TrySetCount(t.Context(), 1, redlatch.WithTTL(2*time.Second))
	require.NoError(t, err)
	require.True(t, set)
	open := start(func() error { return java.await(o, 0) })
	w.awaitWaiter(t, o)
	require.ErrorIs(t, quick.await(o, 0), countdownlatch.ErrExpired)
	require.Zero(t, available(t, w.java(t), o))
	select {
	case err := <-open:
		t.Fatalf("Java has noticed: %v", err)
	case <-time.After(50 * time.Millisecond): // nothing is expected: it may take the blame later, not cause it
	}
	// What lets it go is the message of another count.
	again := w.golang(t)
	_, err = again.setUp(o, 1)
	require.NoError(t, err)
	require.NoError(t, again.countDown(o))
	await(t, "the latch", open)
}
