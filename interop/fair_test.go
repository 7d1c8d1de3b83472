package interop_test

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// queued is how many wait for a fair lock.
func (w *world) queued(t *testing.T, o object) int64 {
	n, err := w.client.LLen(t.Context(), "redisson_lock_queue:{"+o.name+"}").Result()
	require.NoError(t, err)
	return n
}

func TestAFairLockKeepsTheOrderOfArrivalAcrossLanguages(t *testing.T) {
	w := singleWorld(t)
	for _, kind := range []string{"fair", "nonreentrantfair"} {
		if absent(kind) {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object(kind)
				require.NoError(t, first.lock(o, how{}))
				var (
					mu          sync.Mutex
					came, order []string
					all         []<-chan error
				)
				for i := range int64(10) {
					a := w.sameSide(t, second)
					if i%3 == 1 {
						a = w.sameSide(t, first)
					}
					name := fmt.Sprintf("%s %d", a.side(), i)
					came = append(came, name)
					all = append(all, start(func() error {
						if err := a.lock(o, how{}); err != nil {
							return err
						}
						mu.Lock()
						order = append(order, name)
						mu.Unlock()
						return a.unlock(o)
					}))
					eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == i+1 })
				}
				released := time.Now()
				require.NoError(t, first.unlock(o))
				for _, done := range all {
					await(t, "its turn", done)
				}
				require.Equal(t, came, order)
				require.Less(t, time.Since(released), 2*soon, "each is woken by a message")
				require.Empty(t, w.keys(t, o))
			})
		})
	}
}

// The one between two waiters leaves, and the order of the others stays; then the first leaves when it is its turn.
func TestAWaiterThatLeavesTheQueueOpensTheWayForTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("fair")
		require.NoError(t, first.lock(o, how{}))
		leaver := w.sameSide(t, first)
		left := start(func() error { return leaver.lock(o, how{wait: time.Second}) })
		eventually(t, "a place in the queue", func() bool { return w.queued(t, o) == 1 })
		got := start(func() error { return second.lock(o, how{}) })
		eventually(t, "a place in the queue", func() bool { return w.queued(t, o) == 2 })
		require.ErrorIs(t, <-left, errBusy)
		eventually(t, "its leaving", func() bool { return w.queued(t, o) == 1 })
		released := time.Now()
		require.NoError(t, first.unlock(o))
		await(t, "the lock", got)
		require.Less(t, time.Since(released), soon)
		require.NoError(t, second.unlock(o))
		require.Empty(t, w.keys(t, o))
	})
}

// Who asks only once does not overtake those who wait, whichever side they are of.
func TestATryDoesNotOvertakeTheQueueOfTheOtherSide(t *testing.T) {
	w := singleWorld(t)
	bothWays(t, w, func(t *testing.T, first, second actor) {
		o := w.object("fair")
		// Somebody waits who has been asleep, or cut off, since: the lock is free, and it is not the others' turn.
		now, err := w.client.Time(t.Context()).Result()
		require.NoError(t, err)
		sleeper := "b983c153-7421-469a-addb-44fb92259a1b:42"
		require.NoError(t, w.client.RPush(t.Context(), "redisson_lock_queue:{"+o.name+"}", sleeper).Err())
		require.NoError(t, w.client.Do(t.Context(), "ZADD", "redisson_lock_timeout:{"+o.name+"}",
			now.Add(1500*time.Millisecond).UnixMilli(), sleeper).Err())
		require.ErrorIs(t, first.tryLock(o, 0), errBusy)
		require.ErrorIs(t, second.tryLock(o, 0), errBusy)
		if second.side() == "Go" {
			second = w.pollingGo(t, 500*time.Millisecond) // nobody sends a message when a deadline passes
		}
		require.NoError(t, second.lock(o, how{}), "its patience is over")
		require.GreaterOrEqual(t, serverTime(t, w).Sub(now), 1500*time.Millisecond-time.Millisecond)
		require.NoError(t, second.unlock(o))
		require.Empty(t, w.keys(t, o))
	})
}

func serverTime(t *testing.T, w *world) time.Time {
	now, err := w.client.Time(t.Context()).Result()
	require.NoError(t, err)
	return now
}

var scriptCalls = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+),.*failed_calls=(\d+)`)

// scripts is how many the server has executed.
func (w *world) scripts(t *testing.T) (n int) {
	t.Helper()
	text, err := w.client.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	for _, match := range scriptCalls.FindAllStringSubmatch(text, -1) {
		calls, _ := strconv.Atoi(match[1])
		failed, _ := strconv.Atoi(match[2]) // the server did not know it, and was sent its text
		n += calls - failed
	}
	return n
}

// ownJava makes a Java actor in a process of its own, for what would be too much for the others.
func (w *world) ownJava(t *testing.T) *javaActor {
	t.Helper()
	j, err := startJVM()
	require.NoError(t, err)
	t.Cleanup(j.kill)
	command := fields{"op": "open", "codec": "string", "client": "own"}
	for name, value := range w.config {
		command[name] = value
	}
	require.NoError(t, j.call(command, nil))
	return &javaActor{jvm: j, client: "own", thread: "first"}
}

// A waiter of Redisson's has a deadline in minutes. When its process is killed, those of ours behind it wait for seconds
// instead, and so does everybody of Redisson's behind those.
func TestWaitersOfAKilledJavaProcessHoldTheQueueUpForSeconds(t *testing.T) {
	w := singleWorld(t)
	cases.Add(1)
	o := w.object("fair")
	holder, dead := w.golang(t), w.ownJava(t)
	require.NoError(t, holder.lock(o, how{}))
	const killed = 3
	for n := range int64(killed) {
		thread := *dead
		thread.thread = fmt.Sprint(n)
		start(func() error { return thread.lock(o, how{}) })
		eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == n+1 })
	}
	var order []string // written by who holds
	var all []<-chan error
	for i, a := range []actor{w.java(t), w.golang(t), w.java(t)} {
		all = append(all, start(func() error {
			if err := a.lock(o, how{}); err != nil {
				return err
			}
			order = append(order, fmt.Sprintf("%s %d", a.side(), i))
			return a.unlock(o)
		}))
		eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == int64(killed+i+1) })
	}
	dead.jvm.kill()
	require.NoError(t, holder.unlock(o))
	free := time.Now()
	for _, done := range all {
		await(t, "its turn", done)
	}
	t.Logf("the queue went on %v after %d waiters were killed", time.Since(free), killed)
	require.Equal(t, []string{"Java 0", "Go 1", "Java 2"}, order)
	require.Empty(t, w.keys(t, o))
}

// A Java process that stands still is waited for longer than a dead one, for it may come back.
func TestAJavaWaiterThatStandsStillKeepsItsPlaceForAWhile(t *testing.T) {
	for name, awaited := range map[string]bool{"it comes back in time": true, "it comes back too late": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			w := singleWorld(t)
			o := w.object("fair")
			holder, sleeper := w.golang(t), w.ownJava(t)
			require.NoError(t, holder.lock(o, how{}))
			var order []string // written by who holds
			turn := func(a actor) <-chan error {
				return start(func() error {
					if err := a.lock(o, how{}); err != nil {
						return err
					}
					order = append(order, a.side())
					return a.unlock(o)
				})
			}
			before := w.scripts(t)
			slept := turn(sleeper)
			// It asks, listens, and asks again. What is under way when it falls asleep would time out.
			eventually(t, "it to sleep", func() bool { return w.scripts(t) == before+2 })
			other := *sleeper
			other.thread = "second"
			require.False(t, other.held(o))
			require.Equal(t, 1, w.listeners(t, o))
			second := turn(w.golang(t))
			eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == 2 })
			queue, err := w.client.LRange(t.Context(), "redisson_lock_queue:{"+o.name+"}", 0, 0).Result()
			require.NoError(t, err)
			deadline := func() time.Duration {
				ms, err := w.client.ZScore(t.Context(), "redisson_lock_timeout:{"+o.name+"}", queue[0]).Result()
				require.NoError(t, err)
				return time.UnixMilli(int64(ms)).Sub(serverTime(t, w))
			}
			require.Greater(t, deadline(), 4*time.Minute)
			require.NoError(t, sleeper.jvm.cmd.Process.Signal(syscall.SIGSTOP))
			free := time.Now()
			require.NoError(t, holder.unlock(o))
			if awaited {
				eventually(t, "Go to ask for it", func() bool { return deadline() < time.Minute })
			} else {
				await(t, "the lock", second)
				require.Greater(t, time.Since(free), 10*time.Second, "it was not waited for longer than a dead one")
			}
			require.NoError(t, sleeper.jvm.cmd.Process.Signal(syscall.SIGCONT))
			await(t, "the lock", slept)
			if awaited {
				await(t, "the lock", second)
				require.Equal(t, []string{"Java", "Go"}, order)
			}
			require.Empty(t, w.keys(t, o))
		})
	}
}

// A Java thread that is interrupted while it waits leaves its place in the queue behind, as if its process had died.
func TestAnInterruptedJavaWaiterHoldsTheQueueUpForSeconds(t *testing.T) {
	w := singleWorld(t)
	cases.Add(1)
	o := w.object("fair")
	holder, interrupted := w.golang(t), w.java(t).(*javaActor)
	require.NoError(t, holder.lock(o, how{}))
	gone := start(func() error { return interrupted.lock(o, how{}) })
	eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == 1 })
	w.awaitWaiter(t, o)
	var all []<-chan error
	for i, a := range []actor{w.pollingGo(t, 3*time.Second), w.java(t)} {
		all = append(all, start(func() error {
			if err := a.lock(o, how{}); err != nil {
				return err
			}
			return a.unlock(o)
		}))
		eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == int64(i+2) })
	}
	require.NoError(t, interrupted.jvm.call(fields{"op": "interrupt", "thread": interrupted.thread}, nil))
	require.ErrorContains(t, <-gone, "InterruptedException")
	require.EqualValues(t, 3, w.queued(t, o), "Redisson leaves it there")
	require.NoError(t, holder.unlock(o))
	free := time.Now()
	for _, done := range all {
		await(t, "its turn", done)
	}
	require.Less(t, time.Since(free), 2*soon) // a poll and 6 s
	require.Empty(t, w.keys(t, o))
}

// A Go waiter that died is dropped for its silence by a Go waiter. Java goes by the deadline that it left: where only Java
// waits, that is the lock's time when the waiter came, and twice its patience.
func TestADeadGoWaiterHoldsUpAQueueOfJavaWaitersUntilItsDeadline(t *testing.T) {
	w := singleWorld(t)
	cases.Add(1)
	o := w.object("fair")
	holder := w.java(t)
	require.NoError(t, holder.lock(o, how{}))
	dead := w.process(t)
	gone := start(func() error { return dead.lock(o, how{wait: 2 * patience}) })
	eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == 1 })
	require.NoError(t, dead.client.(redis.UniversalClient).Close())
	died := time.Now()
	waiter := w.java(t)
	got := start(func() error { return waiter.lock(o, how{}) })
	eventually(t, "the place behind it", func() bool { return w.queued(t, o) == 2 })
	require.NoError(t, holder.unlock(o))
	await(t, "its turn", got)
	t.Logf("the Java waiter came in %v after the Go waiter died", time.Since(died).Round(100*time.Millisecond))
	require.Less(t, time.Since(died), 61*time.Second+soon)
	require.NoError(t, waiter.unlock(o))
	require.Error(t, <-gone)
}

// Go and Java wait in turn. Whoever frees the lock by force, the order stays; and whatever part of the queue is deleted,
// nobody waits for ever.
//
// But where the deadlines are deleted, two waiters of Java can wait for ever without any help of Go's: one of them stands a second
// time, for it has no deadline any more, and its second place is left when it was served. It has no deadline either, so Redisson
// never removes it, and the other one stands behind it although the lock is free.
func TestAMixedQueueOutlivesForceAndTheLossOfItsKeys(t *testing.T) {
	w := singleWorld(t)
	for name, lost := range map[string][]string{
		"by force":              nil,
		"the list":              {"redisson_lock_queue"},
		"the deadlines":         {"redisson_lock_timeout"},
		"what Go knows of Go":   {"redlatch_lock_alive"},
		"the list and all sets": {"redisson_lock_queue", "redisson_lock_timeout", "redlatch_lock_alive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, w, func(t *testing.T, first, second actor) {
				o := w.object("fair")
				require.NoError(t, first.lock(o, how{}))
				var (
					mu          sync.Mutex
					came, order []string
					all         []<-chan error
				)
				waiters := int64(4)
				if name == "the deadlines" && first.side() == "Go" {
					waiters = 3
				} else if name == "the deadlines" {
					waiters = 2 // one of Java in both cases; see above
				}
				for i := range waiters {
					a := w.sameSide(t, []actor{first, second}[i%2])
					who := fmt.Sprintf("%s %d", a.side(), i)
					came = append(came, who)
					all = append(all, start(func() error {
						if err := a.lock(o, how{}); err != nil {
							return err
						}
						mu.Lock()
						order = append(order, who)
						mu.Unlock()
						return a.unlock(o)
					}))
					eventually(t, "its place in the queue", func() bool { return w.queued(t, o) == i+1 })
				}
				for _, prefix := range lost {
					require.EqualValues(t, 1, w.client.Del(t.Context(), prefix+":{"+o.name+"}").Val(), prefix)
				}
				if lost == nil {
					forced, err := second.forceUnlock(o)
					require.NoError(t, err)
					require.True(t, forced)
				} else {
					require.NoError(t, first.unlock(o))
				}
				for _, done := range all {
					await(t, "its turn", done)
				}
				require.ElementsMatch(t, came, order)
				if lost == nil || name == "what Go knows of Go" {
					require.Equal(t, came, order)
				}
				require.Empty(t, w.keys(t, o))
			})
		})
	}
}
