package interop_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A trait is what a kind of lock has beside exclusion.
type trait int

const (
	reentrant trait = 1 << iota
	single          // one key: it can be asked, counted and force-unlocked
)

type kind struct {
	kind string
	has  trait
}

var kinds = []kind{
	{"lock", reentrant | single},
	{"nonreentrant", single},
	{"fair", reentrant | single},
	{"nonreentrantfair", single},
	{"spin", reentrant | single},
	{"write", reentrant | single},
}

var lockCases = []struct {
	name  string
	needs trait
	run   func(t *testing.T, w *world, o object, first, second actor)
}{
	{"one keeps the other out", 0, exclusion},
	{"a wait ends in time and leaves nothing", 0, endedWait},
	{"a release wakes the other", 0, wakeUp},
	{"the other sees how often it is held", single | reentrant, counting},
	{"a lease ends for the other", 0, leaseEnd},
	{"what the other holds cannot be given back", single, strangersUnlock},
	{"the other frees it by force, and the holder learns", single, forced},
	{"both contend", 0, contention},
}

func TestALockIsOneLockForBothSides(t *testing.T) {
	w := singleWorld(t)
	for _, k := range kinds {
		if absent(k.kind) {
			continue
		}
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			for _, c := range lockCases {
				if k.has&c.needs != c.needs {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					bothWays(t, w, func(t *testing.T, first, second actor) { c.run(t, w, w.object(k.kind), first, second) })
				})
			}
		})
	}
}

// Names with braces are where the tags of the derived keys and channels are easily got wrong.
func TestANameWithBracesIsTheSameForBothSides(t *testing.T) {
	w := singleWorld(t)
	for _, k := range kinds {
		if absent(k.kind) {
			continue
		}
		for _, form := range []string{"{grp}:it-%d-x", "it{-%d-}x"} {
			t.Run(k.kind+" "+form, func(t *testing.T) {
				t.Parallel()
				bothWays(t, w, func(t *testing.T, first, second actor) { wakeUp(t, w, w.objectNamed(k.kind, form), first, second) })
			})
		}
	}
}

func TestTheWatchdogOfEachSideKeepsALockFromTheOther(t *testing.T) {
	w := singleWorld(t)
	for _, k := range kinds {
		if absent(k.kind) {
			continue
		}
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			quick := *w // with the short watchdog timeout
			quickBothWays(t, &quick, func(t *testing.T, first, second actor) { keeps(t, &quick, quick.object(k.kind), first, second) })
		})
	}
}

func quickBothWays(t *testing.T, w *world, fn func(t *testing.T, first, second actor)) {
	t.Helper()
	for _, makers := range [][2]func(*testing.T) actor{{w.quickJava, w.quickGo}, {w.quickGo, w.quickJava}} {
		first, second := makers[0](t), makers[1](t)
		t.Run(first.side()+" holds", func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			fn(t, first, second)
		})
	}
}

func exclusion(t *testing.T, w *world, o object, first, second actor) {
	for range 2 { // the second time after the other had it
		require.NoError(t, first.tryLock(o, 0))
		require.ErrorIs(t, second.tryLock(o, 0), errBusy)
		refusedWithin(t, 100*time.Millisecond, func(h how) error { return second.lock(o, h) })
		require.NoError(t, first.unlock(o))
		require.NoError(t, second.tryLock(o, 0))
		require.ErrorIs(t, first.tryLock(o, 0), errBusy)
		require.NoError(t, second.unlock(o))
	}
	eventually(t, "nothing is left", func() bool { return len(w.left(t, o)) == 0 })
}

func endedWait(t *testing.T, w *world, o object, first, second actor) {
	require.NoError(t, first.lock(o, how{}))
	before := w.keys(t, o)
	for range 3 {
		refusedWithin(t, 60*time.Millisecond, func(h how) error { return second.lock(o, h) })
	}
	if o.kind == "fair" && second.side() == "Java" && absent("ended fair wait") {
		require.NoError(t, first.unlock(o))
		return
	}
	before = slices.Compact(slices.Sorted(slices.Values(before))) // of a Redlock, a majority is there at once
	eventually(t, "the state of before", func() bool {
		return slices.Equal(slices.Compact(slices.Sorted(slices.Values(w.keys(t, o)))), before)
	})
	require.NoError(t, first.unlock(o))
	eventually(t, "nothing is left", func() bool { return len(w.left(t, o)) == 0 })
}

// soon is far below the 30 s of the lease and the 20 s of a poll: who gets something within it got a message.
const soon = 8 * time.Second

func wakeUp(t *testing.T, w *world, o object, first, second actor) {
	require.NoError(t, first.lock(o, how{}))
	got := start(func() error { return second.lock(o, how{}) })
	w.awaitSleeper(t, o, second)
	stillWaits(t, got)
	released := time.Now()
	require.NoError(t, first.unlock(o))
	await(t, "the lock", got)
	require.Less(t, time.Since(released), soon, "it was not woken by the message")
	require.ErrorIs(t, first.tryLock(o, 0), errBusy)
	require.NoError(t, second.unlock(o))
}

// stillWaits looks for a moment whether a waiter comes in while another holds the lock. In this moment a waiter goes to sleep as well. A
// fenced lock of Redisson misses a message that comes just then: its waiter adds a listener and looks for a permit, and the message looks
// for a listener and adds a permit. One of each in turn, and the waiter sleeps until the lease is over.
func stillWaits(t *testing.T, got <-chan error) {
	t.Helper()
	select {
	case err := <-got:
		t.Fatalf("the waiter has the lock although another holds it: %v", err)
	case <-time.After(50 * time.Millisecond): // nothing is expected: it may take the blame later, not cause it
	}
}

func counting(t *testing.T, w *world, o object, first, second actor) {
	for n := int64(1); n <= 3; n++ {
		require.NoError(t, first.lock(o, how{}))
		own, err := first.holds(o)
		require.NoError(t, err)
		require.Equal(t, n, own)
		require.Equal(t, n, w.count(t, o, first.owner(o)), "in Redis, where the other side looks")
		others, err := second.holds(o)
		require.NoError(t, err)
		require.Zero(t, others)
	}
	for n := int64(2); n >= 0; n-- {
		require.ErrorIs(t, second.tryLock(o, 0), errBusy)
		locked, err := second.isLocked(o)
		require.NoError(t, err)
		require.True(t, locked)
		ttl, err := second.ttl(o)
		require.NoError(t, err)
		require.Greater(t, ttl, 20*time.Second)
		require.NoError(t, first.unlock(o))
		if n > 0 {
			require.Equal(t, n, w.count(t, o, first.owner(o)))
		}
	}
	locked, err := second.isLocked(o)
	require.NoError(t, err)
	require.False(t, locked)
	ttl, err := second.ttl(o)
	require.NoError(t, err)
	require.Zero(t, ttl)
}

func leaseEnd(t *testing.T, w *world, o object, first, second actor) {
	if o.kind == "fair" && second.side() == "Java" && absent("fair lease") {
		return
	}
	const lease = 700 * time.Millisecond
	asked := time.Now()
	require.NoError(t, first.lock(o, how{lease: lease}))
	require.NoError(t, second.lock(o, how{}))
	require.GreaterOrEqual(t, time.Since(asked), lease-2*time.Millisecond, "before the lease was over")
	require.Less(t, time.Since(asked), soon)
	if first.side() == "Go" || o.kind != "redlock" { // Redisson ignores what goes wrong when a RedLock is given back
		require.ErrorIs(t, first.unlock(o), errNotOwner)
	}
	if o.kind != "multi" || second.side() == "Go" || !absent("held multi") {
		require.True(t, second.held(o))
	}
	require.ErrorIs(t, first.tryLock(o, 0), errBusy)
	require.NoError(t, second.unlock(o))
}

func strangersUnlock(t *testing.T, w *world, o object, first, second actor) {
	require.NoError(t, first.lock(o, how{}))
	require.ErrorIs(t, second.unlock(o), errNotOwner)
	require.False(t, second.held(o))
	require.True(t, first.held(o))
	require.ErrorIs(t, second.tryLock(o, 0), errBusy)
	require.NoError(t, first.unlock(o))
}

func forced(t *testing.T, w *world, o object, first, second actor) {
	third := w.sameSide(t, first)
	require.NoError(t, first.lock(o, how{}))
	got := start(func() error { return third.lock(o, how{}) })
	w.awaitSleeper(t, o, third)
	stillWaits(t, got)
	was, err := second.forceUnlock(o)
	require.NoError(t, err)
	require.True(t, was)
	forced := time.Now()
	await(t, "the lock", got)
	require.Less(t, time.Since(forced), soon, "it was not woken by the message")
	eventually(t, "the holder to learn", func() bool { return !first.held(o) })
	// A third of the watchdog timeout and a second, and what a busy machine adds.
	require.Less(t, time.Since(forced), 11*time.Second+5*time.Second)
	require.ErrorIs(t, first.unlock(o), errNotOwner)
	require.True(t, third.held(o))
	require.NoError(t, third.unlock(o))
	was, err = second.forceUnlock(o)
	require.NoError(t, err)
	require.False(t, was)
}

func keeps(t *testing.T, w *world, o object, first, second actor) {
	require.NoError(t, first.lock(o, how{}))
	if w.one(o) {
		ttl, err := second.ttl(o)
		require.NoError(t, err)
		require.LessOrEqual(t, ttl, shortWatchdog)
	}
	require.ErrorIs(t, second.lock(o, how{wait: 5 * shortWatchdog / 2}), errBusy)
	require.NoError(t, first.unlock(o))
	require.NoError(t, second.lock(o, how{}))
	require.NoError(t, second.unlock(o))
}

// Two of each side take turns as they come; one number tells how many are inside.
func contention(t *testing.T, w *world, o object, first, second actor) {
	var inside atomic.Int64
	var overlaps atomic.Int64
	work := func(a actor) func() error {
		return func() error {
			for range 20 {
				if err := a.lock(o, how{}); err != nil {
					return err
				}
				if inside.Add(1) != 1 {
					overlaps.Add(1)
				}
				time.Sleep(time.Millisecond)
				inside.Add(-1)
				if err := a.unlock(o); err != nil {
					return err
				}
			}
			return nil
		}
	}
	var all []<-chan error
	for _, a := range []actor{first, second, w.sameSide(t, first), w.sameSide(t, second)} {
		all = append(all, start(work(a)))
	}
	for _, done := range all {
		await(t, "20 turns", done)
	}
	require.Zero(t, overlaps.Load())
	eventually(t, "nothing is left", func() bool { return len(w.left(t, o)) == 0 })
}

// sameSide makes another actor of the side.
func (w *world) sameSide(t *testing.T, a actor) actor {
	t.Helper()
	if a.side() == "Java" {
		return w.java(t)
	}
	return w.golang(t)
}

// one tells whether the object is a lock with one key, which can be asked.
func (w *world) one(o object) bool { return o.names == "" && o.kind != "redlock" }

// left are the keys of an object that nobody holds or waits for, but for the token of a fenced lock, which stays.
func (w *world) left(t *testing.T, o object) []string {
	t.Helper()
	return slices.DeleteFunc(w.keys(t, o), func(key string) bool { return key == "redisson_lock_token:{"+o.name+"}" })
}

// count is how often this owner holds the lock, as it stands in Redis.
func (w *world) count(t *testing.T, o object, owner string) int64 {
	t.Helper()
	n, err := w.client.HGet(context.Background(), o.name, owner).Int64()
	if err != nil && !errors.Is(err, redisNil) {
		require.NoError(t, err)
	}
	return n
}
