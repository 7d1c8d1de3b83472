package interop_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/settings"
)

// Go processes that wait sit in a row of which Redisson does not know, and pass a lock on without its being free. What
// that means for Java waiters and Java holders is shown here.

// passed are the kinds of locks that go from process to process.
var passed = []string{"lock", "nonreentrant", "fenced"}

func TestGoProcessesPassALockBesideJava(t *testing.T) { passes(t, singleWorld(t)) }

func TestGoProcessesPassALockBesideJavaOnACluster(t *testing.T) { passes(t, clusterWorld(t)) }

func passes(t *testing.T, w *world) {
	t.Helper()
	for _, kind := range passed {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name string
				run  func(*testing.T, *world, object)
			}{
				{"a release in Java is for one of the row, and the others keep their seats", releaseToTheRow},
				{"a Java waiter has it after those of the row", waiterBehindTheRow},
				{"Java sees who was passed it as the holder", passSeenFromJava},
				{"Java frees by force what was passed", passForced},
			} {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					cases.Add(1)
					c.run(t, w, w.object(kind))
				})
			}
		})
	}
}

// process makes a Go actor with a client of its own: for the locks it is another process.
func (w *world) process(t *testing.T) *goActor {
	t.Helper()
	a := w.golang(t).(*goActor)
	a.client = w.another(t)
	return a
}

// row is who sits there, the first one first, and since when.
func (w *world) row(t *testing.T, o object) []redis.Z {
	t.Helper()
	seats, err := w.client.ZRangeWithScores(context.Background(), "redlatch_lock_row:{"+o.name+"}", 0, -1).Result()
	require.NoError(t, err)
	return seats
}

// seat has the actor wait, and returns when it sits behind the others.
func (w *world) seat(t *testing.T, o object, a *goActor) (owner string, got <-chan error) {
	t.Helper()
	before := len(w.row(t, o))
	got = start(func() error { return a.lock(o, how{}) })
	eventually(t, "a seat", func() bool { return len(w.row(t, o)) == before+1 })
	return w.row(t, o)[before].Member.(string), got
}

// waits fails if the wait is over. Nothing is expected to come, so the time may take the blame later, not cause it.
func waits(t *testing.T, who string, got <-chan error) {
	t.Helper()
	select {
	case err := <-got:
		t.Fatalf("%s has it although somebody else holds it: %v", who, err)
	case <-time.After(50 * time.Millisecond):
	}
}

func releaseToTheRow(t *testing.T, w *world, o object) {
	java := w.java(t)
	require.NoError(t, java.lock(o, how{}))
	waiters := map[string]*goActor{} // by their seats
	got := make(chan string, 3)
	failed := make(chan error, cap(got))
	for range cap(got) {
		who := w.process(t)
		seat, done := w.seat(t, o, who)
		waiters[seat] = who
		go func() {
			if err := <-done; err != nil {
				failed <- err
			} else {
				got <- seat
			}
		}()
	}
	next := func() string {
		select {
		case seat := <-got:
			return seat
		case err := <-failed:
			t.Fatal(err)
		case <-time.After(patience):
			t.Fatalf("nobody has it; in the row there are %v", w.row(t, o))
		}
		panic("unreachable")
	}
	row := w.row(t, o)
	released := time.Now()
	require.NoError(t, java.unlock(o))
	winner := next()
	require.Less(t, time.Since(released), soon, "nobody was woken by the message")
	require.Equal(t, winner, waiters[winner].owner(o))
	row = slices.DeleteFunc(row, func(z redis.Z) bool { return z.Member == winner })
	require.Equal(t, row, w.row(t, o), "the others sit where they sat")
	require.ErrorIs(t, java.tryLock(o, 0), errBusy)

	for _, z := range row { // in its order
		require.NoError(t, waiters[winner].unlock(o))
		winner = next()
		require.Equal(t, z.Member, winner)
		require.Equal(t, winner, waiters[winner].owner(o))
		require.ErrorIs(t, java.tryLock(o, 0), errBusy)
	}
	require.Less(t, time.Since(released), soon, "it was not passed on")
	require.NoError(t, waiters[winner].unlock(o))
	require.NoError(t, java.tryLock(o, 0))
	if o.kind == "fenced" {
		require.EqualValues(t, 5, java.token(o))
	}
	require.NoError(t, java.unlock(o))
	eventually(t, "nothing is left", func() bool { return len(w.left(t, o)) == 0 })
}

func waiterBehindTheRow(t *testing.T, w *world, o object) {
	holder, next, java := w.process(t), w.process(t), w.java(t)
	require.NoError(t, holder.lock(o, how{}))
	javaGot := start(func() error { return java.lock(o, how{}) })
	w.awaitWaiter(t, o)
	seat, got := w.seat(t, o, next)
	var p *plate
	if !w.shards { // else a pattern does not show the messages
		p = newPlate(t, w, o)
	}
	released := time.Now()
	require.NoError(t, holder.unlock(o))
	await(t, "the lock", got)
	require.Less(t, time.Since(released), soon, "it was not told")
	require.Equal(t, seat, next.owner(o), "it holds as the one who sat, so it did not ask")
	require.EqualValues(t, 1, w.count(t, o, seat))
	if p != nil {
		sent := p.sent(t.Context(), "pass")
		require.Contains(t, sent, "redlatch_lock_row:")
		require.NotContains(t, sent, "redisson_lock__channel:", "the lock was not free")
	}
	waits(t, "Java", javaGot)

	released = time.Now()
	require.NoError(t, next.unlock(o))
	await(t, "the lock", javaGot)
	require.Less(t, time.Since(released), soon, "it was not woken by the message")
	require.ErrorIs(t, holder.tryLock(o, 0), errBusy)
	if o.kind == "fenced" {
		require.EqualValues(t, 3, java.token(o), "after the two of Go")
	}
	require.NoError(t, java.unlock(o))
	eventually(t, "nothing is left", func() bool { return len(w.left(t, o)) == 0 })
}

// passLease is for how long a lock is passed; its process renews it after a third, to the watchdog timeout.
const passLease = 10 * time.Second

func passSeenFromJava(t *testing.T, w *world, o object) {
	holder, next, java := w.process(t), w.process(t), w.java(t)
	require.NoError(t, holder.lock(o, how{}))
	seat, got := w.seat(t, o, next)
	require.NoError(t, holder.unlock(o))
	await(t, "the lock", got)

	ttl, err := java.ttl(o)
	require.NoError(t, err)
	require.Positive(t, ttl)
	// The lock is passed for passLease. It may have the watchdog timeout already, by the first renewal or because Redis
	// answered a question of the waiter, sent as it came to the process queue, after the pass.
	require.LessOrEqual(t, ttl, settings.DefaultWatchdogTimeout)
	locked, err := java.isLocked(o)
	require.NoError(t, err)
	require.True(t, locked)
	require.False(t, java.held(o))
	n, err := java.holds(o)
	require.NoError(t, err)
	require.Zero(t, n)
	require.ErrorIs(t, java.tryLock(o, 0), errBusy)
	require.ErrorIs(t, java.unlock(o), errNotOwner)
	if o.kind == "fenced" {
		last, err := java.lastToken(o)
		require.NoError(t, err)
		require.EqualValues(t, 2, last)
		require.EqualValues(t, 2, next.token(o))
	}

	eventually(t, "the first renewal", func() bool {
		ttl, err := java.ttl(o)
		require.NoError(t, err)
		return ttl > passLease
	})
	require.True(t, next.held(o))
	require.EqualValues(t, 1, w.count(t, o, seat))
	require.NoError(t, next.unlock(o))
	locked, err = java.isLocked(o)
	require.NoError(t, err)
	require.False(t, locked)
	require.NoError(t, java.tryLock(o, 0))
	require.NoError(t, java.unlock(o))
	eventually(t, "nothing is left", func() bool { return len(w.left(t, o)) == 0 })
}

func passForced(t *testing.T, w *world, o object) {
	holder, next, third, java, force := w.process(t), w.process(t), w.process(t), w.java(t), w.java(t)
	require.NoError(t, holder.lock(o, how{}))
	javaGot := start(func() error { return java.lock(o, how{}) })
	w.awaitWaiter(t, o)
	_, got := w.seat(t, o, next)
	_, thirdGot := w.seat(t, o, third)
	require.NoError(t, holder.unlock(o))
	await(t, "the lock", got)

	was, err := force.forceUnlock(o)
	require.NoError(t, err)
	require.True(t, was)
	forced := time.Now()
	select { // both were woken, and one of them is too late
	case err := <-thirdGot:
		require.NoError(t, err)
		waits(t, "Java", javaGot)
		require.NoError(t, third.unlock(o))
		await(t, "the lock", javaGot)
	case err := <-javaGot:
		require.NoError(t, err)
		waits(t, "Go", thirdGot)
		require.NoError(t, java.unlock(o))
		await(t, "the lock", thirdGot)
	case <-time.After(patience):
		t.Fatal("nobody goes on")
	}
	require.Less(t, time.Since(forced), soon, "they were not woken by messages")
	eventually(t, "the holder to learn", func() bool { return !next.held(o) })
	require.ErrorIs(t, next.unlock(o), errNotOwner)
}
