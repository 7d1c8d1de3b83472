package interop_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sides(o object) (read, write object) {
	return object{kind: "read", name: o.name}, object{kind: "write", name: o.name}
}

func TestReadersOfBothSidesShareAndTheLastOneWakesTheWriter(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		read, write := sides(w.object("read"))
		require.NoError(t, first.lock(read, how{}))
		require.NoError(t, second.lock(read, how{}))
		for _, a := range []actor{w.sameSide(t, first), w.sameSide(t, second)} {
			require.ErrorIs(t, a.tryLock(write, 0), errBusy)
		}
		writer := w.sameSide(t, second)
		got := start(func() error { return writer.lock(write, how{}) })
		w.awaitWaiter(t, write)
		require.NoError(t, second.unlock(read))
		require.ErrorIs(t, w.sameSide(t, second).tryLock(write, 0), errBusy)
		released := time.Now()
		require.NoError(t, first.unlock(read))
		await(t, "the write lock", got)
		require.Less(t, time.Since(released), soon)
		require.ErrorIs(t, first.tryLock(read, 0), errBusy)
		require.ErrorIs(t, second.tryLock(read, 0), errBusy)
		require.NoError(t, writer.unlock(write))
		require.Empty(t, w.keys(t, read))
	})
}

func TestAWritersReleaseWakesTheReadersOfBothSides(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		read, write := sides(w.object("read"))
		require.NoError(t, first.lock(write, how{}))
		var waiting []<-chan error
		readers := []actor{second, w.sameSide(t, second), w.sameSide(t, first), w.sameSide(t, first)}
		for _, reader := range readers {
			waiting = append(waiting, start(func() error { return reader.lock(read, how{}) }))
		}
		w.awaitListeners(t, read, 2) // one subscription for all waiters of a client
		for _, reader := range readers {
			w.awaitSleeper(t, read, reader)
		}
		released := time.Now()
		require.NoError(t, first.unlock(write))
		for _, got := range waiting {
			await(t, "the read lock", got)
		}
		require.Less(t, time.Since(released), soon)
		for _, reader := range readers {
			require.ErrorIs(t, first.tryLock(write, 0), errBusy)
			require.NoError(t, reader.unlock(read))
		}
		eventually(t, "nothing is left, also of what Go's readers announce for those of Java", func() bool { return len(w.keys(t, read)) == 0 })
	})
}

func TestTheOtherSideSeesWhichSideIsHeld(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		read, write := sides(w.object("read"))
		locked := func(o object) bool {
			is, err := second.isLocked(o)
			require.NoError(t, err)
			return is
		}
		require.NoError(t, first.lock(read, how{}))
		require.NoError(t, first.lock(read, how{}))
		require.True(t, locked(read))
		require.False(t, locked(write))
		require.EqualValues(t, 2, w.count(t, read, first.owner(read)))
		require.NoError(t, second.lock(read, how{}))
		require.NoError(t, first.unlock(read))
		require.EqualValues(t, 1, w.count(t, read, first.owner(read)))
		require.EqualValues(t, 1, w.count(t, read, second.owner(read)))
		was, err := second.forceUnlock(write)
		require.NoError(t, err)
		require.False(t, was, "nobody writes")
		was, err = second.forceUnlock(read)
		require.NoError(t, err)
		require.True(t, was)
		require.False(t, locked(read))
		if first.side() == "Go" || !absent("freed reader") {
			require.ErrorIs(t, first.unlock(read), errNotOwner)
		}
	})
}

// A writer that reads and gives back the write hold lets the other side's readers in and its writers not. Java sends no
// message then, so a Go reader comes in with its next poll; Go sends one.
func TestADowngradeLetsTheOthersReadersIn(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		read, write := sides(w.object("read"))
		require.NoError(t, first.lock(write, how{}))
		require.NoError(t, first.lock(read, how{}))
		if second.side() == "Go" {
			second = w.pollingGo(t, time.Second)
		}
		got := start(func() error { return second.lock(read, how{}) })
		w.awaitSleeper(t, read, second)
		released := time.Now()
		require.NoError(t, first.unlock(write))
		await(t, "the read lock", got)
		require.Less(t, time.Since(released), soon)
		require.ErrorIs(t, w.sameSide(t, second).tryLock(write, 0), errBusy)
		require.True(t, first.held(read))
		require.NoError(t, second.unlock(read))
		require.ErrorIs(t, w.sameSide(t, second).tryLock(write, 0), errBusy)
		require.NoError(t, first.unlock(read))
		require.NoError(t, second.tryLock(write, 0))
		require.NoError(t, second.unlock(write))
		require.Empty(t, w.keys(t, read))
	})
}

// Java computes the lock's time anew from the marks of all readers whenever one leaves: those of the other side have to
// be there and alive.
func TestAReaderKeepsTheLockWhileReadersOfTheOtherSideComeAndGo(t *testing.T) {
	w := singleWorld(t)
	quickBothWays(t, w, func(t *testing.T, first, second actor) {
		read, write := sides(w.object("read"))
		require.NoError(t, first.lock(read, how{}))
		writer := w.sameSide(t, second)
		for until := time.Now().Add(5 * shortWatchdog / 2); time.Now().Before(until); {
			require.NoError(t, second.lock(read, how{lease: time.Second})) // less than the other is promised
			refusedWithin(t, 300*time.Millisecond, func(h how) error { return writer.lock(write, h) })
			require.NoError(t, second.unlock(read))
		}
		require.True(t, first.held(read))
		require.NoError(t, first.unlock(read))
		require.NoError(t, writer.tryLock(write, 0))
		require.NoError(t, writer.unlock(write))
		require.Empty(t, w.keys(t, read))
	})
}

// A reader that died stays in the hash when its lease is over. The last living reader sweeps it out. One of Java's may be
// alive without its mark, so Go gives it 30 s in which a renewal would come.
func TestADeadReaderIsSweptOutByTheLastOneOfTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		read, write := sides(w.object("read"))
		require.NoError(t, first.lock(read, how{lease: 300 * time.Millisecond})) // and is never given back
		require.NoError(t, second.lock(read, how{}))
		eventually(t, "the end of the lease", func() bool {
			return w.client.Exists(t.Context(), "{"+read.name+"}:"+first.owner(read)+":rwlock_timeout:1").Val() == 0
		})
		writer := w.sameSide(t, second)
		got := start(func() error { return writer.lock(write, how{}) })
		w.awaitWaiter(t, write)
		released := time.Now()
		require.NoError(t, second.unlock(read))
		await(t, "the write lock", got)
		limit := soon
		if first.side() == "Java" {
			limit += 30 * time.Second
		}
		require.Less(t, time.Since(released), limit)
		require.NoError(t, writer.unlock(write))
	})
}

// Redisson 3.44 to 3.52 renews the mark of the first of the read locks of a process, and that of no other.
func TestAJavaProcessKeepsAllItsReadLocks(t *testing.T) {
	w := singleWorld(t)
	cases.Add(1)
	reader := w.quickJava(t)
	var locks []object
	for range 3 {
		locks = append(locks, w.object("read"))
		require.NoError(t, reader.lock(locks[len(locks)-1], how{}))
	}
	for until := time.Now().Add(3 * shortWatchdog); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		for _, o := range locks {
			_, write := sides(o)
			require.ErrorIs(t, w.golang(t).tryLock(write, 0), errBusy)
		}
	}
	for _, o := range locks {
		_, write := sides(o)
		writer := w.golang(t)
		got := start(func() error { return writer.lock(write, how{}) })
		w.awaitWaiter(t, write)
		require.NoError(t, reader.unlock(o))
		await(t, "the write lock", got)
		require.NoError(t, writer.unlock(write))
	}
}

// A Java reader's renewal sets the time of the lock, and before 4.4.0 of Go's marks, to its own watchdog timeout. A Go
// reader with a lease makes it what was promised again, also when the Java process has died.
func TestAJavaReaderThatDiesLeavesGoWhatItWasPromised(t *testing.T) {
	w := *singleWorld(t)
	cases.Add(1)
	var err error
	w.jvm, err = startJVM()
	require.NoError(t, err)
	defer w.jvm.kill()
	w.long, w.short = "long", "short"
	var uuid string
	open := fields{"op": "open", "client": w.short, "watchdog": shortWatchdog.Milliseconds()}
	maps.Copy(open, w.config)
	require.NoError(t, w.jvm.call(open, &uuid))

	read, write := sides(w.object("read"))
	const lease = 3 * shortWatchdog
	reader := w.golang(t)
	asked := time.Now()
	require.NoError(t, reader.lock(read, how{lease: lease}))
	require.NoError(t, w.quickJava(t).lock(read, how{}))
	eventually(t, "a renewal, which cuts the lock", func() bool {
		ttl := w.client.PTTL(t.Context(), read.name).Val()
		return time.Since(asked) > shortWatchdog/3 && ttl < lease/2
	})
	w.jvm.kill()
	for time.Since(asked) < lease-time.Second/2 {
		require.True(t, reader.held(read))
		require.ErrorIs(t, w.golang(t).tryLock(write, 0), errBusy)
		time.Sleep(50 * time.Millisecond)
	}
}
