package interop_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A step is something an actor does, and what Redis looks like then: keys as "name value lifetime", owners as letters
// in the order of their coming, lifetimes and deadlines in seconds from now, ids as #; then the messages that were sent,
// as "channel payload".
type step struct {
	what string
	do   func(actors []actor, o object) error
	want string
	ours string // what Go leaves, where it differs on purpose
}

// The same steps have the same traces whichever side takes them, but for those where Go leaves something else on purpose;
// docs/internals/protocol.md has the reasons under Deliberate differences. What is written here was compared with both. A wait in a
// fair queue is begun and not ended, so the actors of those steps wait on goroutines of their own.
var traces = []struct {
	kind  string
	steps []step
}{
	{"lock", []step{
		{"take", by(0, take), "it {A:1} 30s", ""},
		{"take again", by(0, take), "it {A:2} 30s", ""},
		{"give back", by(0, actor.unlock), "it {A:1} 30s", ""},
		{"give back again", by(0, actor.unlock), "| redisson_lock__channel:{it} 0", ""},
		{"with a lease", byLease(1, 60), "it {B:1} 60s", ""},
		{"by force", by(0, force), "| redisson_lock__channel:{it} 0", ""},
	}},
	{"nonreentrant", []step{
		{"take", by(0, take), "it {A:1} 30s", ""},
		{"take again", by(0, refused), "it {A:1} 30s", ""},
		{"give back", by(0, actor.unlock), "| redisson_lock__channel:{it} 0", ""},
		{"with a lease", byLease(1, 60), "it {B:1} 60s", ""},
		{"by force", by(0, force), "| redisson_lock__channel:{it} 0", ""},
	}},
	{"fair", []step{
		{"take", by(0, take), "it {A:1} 30s", ""},
		{"take again", by(0, take), "it {A:2} 30s", ""},
		{"give back", by(0, actor.unlock), "it {A:1} 30s", ""},
		{"give back again, and nobody waits", by(0, actor.unlock), "", ""},
		{"with a lease", byLease(1, 60), "it {B:1} 60s", ""},
		{"by force", by(0, force), "", ""},
	}},
	{"nonreentrantfair", []step{
		{"take", by(0, take), "it {A:1} 30s", ""},
		{"take again", by(0, refused), "it {A:1} 30s", ""},
		{"give back, and nobody waits", by(0, actor.unlock), "", ""},
	}},
	{"spin", []step{
		{"take", by(0, take), "it {A:1} 30s", ""},
		{"take again", by(0, take), "it {A:2} 30s", ""},
		{"give back", by(0, actor.unlock), "it {A:1} 30s", ""},
		{"give back again", by(0, actor.unlock), "", ""},
		{"with a lease", byLease(1, 60), "it {B:1} 60s", ""},
		{"by force", by(0, force), "", ""},
	}},
	{"fenced", []step{
		{"take", by(0, take), "it {A:1} 30s, redisson_lock_token:{it} 1", ""},
		{"take again", by(0, take), "it {A:2} 30s, redisson_lock_token:{it} 2", ""},
		{"give back", by(0, actor.unlock), "it {A:1} 30s, redisson_lock_token:{it} 2", ""},
		{"give back again", by(0, actor.unlock), "redisson_lock_token:{it} 2 | redisson_lock__channel:{it} 0", ""},
		{"with a lease", byLease(1, 60), "it {B:1} 60s, redisson_lock_token:{it} 3", ""},
		{"by force", by(0, force), "redisson_lock_token:{it} 3 | redisson_lock__channel:{it} 0", ""},
	}},
	{"write", []step{
		{"write", by(0, take), "it {A:write:1 mode:write} 30s", ""},
		{"read beside", by(0, read(30)), "it {A:1 A:write:1 mode:write} 30s, {it}:A:rwlock_timeout:1 1 30s", ""},
		{"stop reading", by(0, unread), "it {A:write:1 mode:write} 30s", ""},
		{"stop writing", by(0, actor.unlock), "| redisson_rwlock:{it} 1", ""},
		{"write again", by(1, take), "it {B:write:1 mode:write} 30s", ""},
		{"by force", by(0, force), "| redisson_rwlock:{it} 1", ""},
	}},
	{"write", []step{
		{"write", by(0, take), "it {A:write:1 mode:write} 30s", ""},
		{"and again", by(0, take), "it {A:write:2 mode:write} 60s", "it {A:write:2 mode:write} 30s"},
		{"give one back", by(0, actor.unlock), "it {A:write:1 mode:write} 30s", ""},
		{"read too", by(0, read(30)), "it {A:1 A:write:1 mode:write} 30s, {it}:A:rwlock_timeout:1 1 30s", ""},
		{"read on", by(0, actor.unlock), "it {A:1 mode:read} 30s, {it}:A:rwlock_timeout:1 1 30s",
			"it {A:1 mode:read} 30s, {it}:A:rwlock_timeout:1 1 30s | redisson_rwlock:{it} 1"},
		{"stop", by(0, unread), "| redisson_rwlock:{it} 0", ""},
	}},
	{"read", []step{
		{"read for 30 s", byLease(0, 30), "it {A:1 mode:read} 30s, {it}:A:rwlock_timeout:1 1 30s", ""},
		{"again for 60 s", byLease(0, 60), "it {A:2 mode:read} 60s, {it}:A:rwlock_timeout:1 1 30s, {it}:A:rwlock_timeout:2 1 60s",
			"it {A:2 mode:read} 60s, {it}:A:rwlock_timeout:1 1 60s, {it}:A:rwlock_timeout:2 1 60s"},
		{"another for 10 s", byLease(1, 10), "it {A:2 B:1 mode:read} 60s, {it}:A:rwlock_timeout:1 1 30s, {it}:A:rwlock_timeout:2 1 60s, {it}:B:rwlock_timeout:1 1 10s",
			"it {A:2 B:1 mode:read} 60s, {it}:A:rwlock_timeout:1 1 60s, {it}:A:rwlock_timeout:2 1 60s, {it}:B:rwlock_timeout:1 1 10s"},
		{"the first stops once", by(0, actor.unlock), "it {A:1 B:1 mode:read} 30s, {it}:A:rwlock_timeout:1 1 30s, {it}:B:rwlock_timeout:1 1 10s",
			"it {A:1 B:1 mode:read} 60s, {it}:A:rwlock_timeout:1 1 60s, {it}:B:rwlock_timeout:1 1 10s"},
		{"and again", by(0, actor.unlock), "it {B:1 mode:read} 10s, {it}:B:rwlock_timeout:1 1 10s", ""},
		{"the other stops", by(1, actor.unlock), "| redisson_rwlock:{it} 0", ""},
	}},
	{"read", []step{
		{"read", byLease(0, 30), "it {A:1 mode:read} 30s, {it}:A:rwlock_timeout:1 1 30s", ""},
		{"by force", by(1, force), "{it}:A:rwlock_timeout:1 1 30s | redisson_rwlock:{it} 0", "| redisson_rwlock:{it} 0"},
	}},
	{"semaphore", []step{
		{"set up", setUpWith(5), "it 5 | redisson_sc:{it} 5", ""},
		{"acquire 3", acquireN(3, 0), "it 2", ""},
		{"release 2", releaseN(2), "it 4 | redisson_sc:{it} 4", ""},
		{"add", addN(6), "it 10 | redisson_sc:{it} 10", ""},
		{"release to what exists", tryReleaseN(2), "it 12 | redisson_sc:{it} 12", ""},
		{"take away", addN(-3), "it 9 | redisson_sc:{it} 9", ""},
		{"expire", func(a []actor, o object) error { _, err := a[0].expire(o, time.Minute); return err }, "it 9 60s", ""},
		{"acquire 2", acquireN(2, 0), "it 7 60s", ""},
		{"expire no more", func(a []actor, o object) error { _, err := a[0].persist(o); return err }, "it 7", ""},
		{"drain", func(a []actor, o object) error { _, err := a[0].drain(o); return err }, "it 0", ""},
		{"delete", remove, "", ""},
		{"release to nothing", tryReleaseN(2), "", ""},
		{"release, which creates it", releaseN(2), "it 2 | redisson_sc:{it} 2", ""},
	}},
	{"latch", []step{
		{"set", setUpWith(2), "it 2 | redisson_countdownlatch__channel__{it} 1", ""},
		{"count down", by(0, actor.countDown), "it 1", ""},
		{"count down to zero", by(0, actor.countDown), "| redisson_countdownlatch__channel__{it} 0", ""},
		{"count down below zero", by(0, actor.countDown), "", ""},
		{"set again", setUpWith(2), "it 2 | redisson_countdownlatch__channel__{it} 1", ""},
		{"delete", remove, "| redisson_countdownlatch__channel__{it} 1", "| redisson_countdownlatch__channel__{it} 0"},
		{"delete again", remove, "", ""},
	}},
	{"multi", []step{
		{"take", by(0, take), "it:0 {A:1} 30s, it:1 {A:1} 30s, it:2 {A:1} 30s", "it:0 {A:1} 30s, it:1 {B:1} 30s, it:2 {C:1} 30s"},
		{"give back", by(0, actor.unlock), "| redisson_lock__channel:{it:0} 0 redisson_lock__channel:{it:1} 0 redisson_lock__channel:{it:2} 0", ""},
	}},
	{"group", []step{
		{"take", by(0, take), inGroup("A", 1, 30), ""},
		{"take again", by(0, take), inGroup("A", 2, 30), ""},
		{"give back", by(0, actor.unlock), inGroup("A", 1, 30) + " | redisson_lock__channel:{it} 0", inGroup("A", 1, 30)},
		{"give back again", by(0, actor.unlock), "| redisson_lock__channel:{it} 0", ""},
		{"with a lease", byLease(1, 60), inGroup("B", 1, 60), ""},
		{"by force", by(0, force), "| redisson_lock__channel:{it} 0", ""},
	}},
}

// inGroup is the hash of a group's two values.
func inGroup(owner string, holds, seconds int) string {
	var all []string
	for _, value := range []string{"7pNoDdizVy2xY792MaFv+w", "kIX2DFOX4IWct7G7K6tV9A"} {
		all = append(all, fmt.Sprintf("%[1]s:%[2]s %[1]s:%[2]s:expire_time:%[3]ds %[1]s:%[2]s:lock_count:%[4]d", value, owner, seconds, holds))
	}
	return fmt.Sprintf("it {%s} %ds", strings.Join(all, " "), seconds)
}

func TestTheSameStepsLeaveTheSameTraces(t *testing.T) {
	w := singleWorld(t)
	for _, trace := range traces {
		for _, make := range []func(*testing.T) actor{w.java, w.golang} {
			actors := []actor{make(t), make(t)}
			t.Run(trace.kind+" in "+actors[0].side(), func(t *testing.T) {
				t.Parallel()
				cases.Add(1)
				p := newPlate(t, w, w.object(trace.kind))
				for _, s := range trace.steps {
					require.NoError(t, s.do(actors, p.o), s.what)
					want := s.want
					if s.ours != "" && actors[0].side() == "Go" {
						want = s.ours
					}
					require.Equal(t, want, p.look(s.what), s.what)
				}
			})
		}
	}
}

// Permits are known by their ids, so their steps depend on each other.
func TestPermitsHaveTheSameTraces(t *testing.T) {
	w := singleWorld(t)
	for _, make := range []func(*testing.T) actor{w.java, w.golang} {
		a := make(t)
		t.Run(a.side(), func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			o := w.object("permits")
			p := newPlate(t, w, o)
			leaves := func(what string, err error, want string) {
				t.Helper()
				require.NoError(t, err, what)
				require.Equal(t, want, p.look(what), what)
			}
			is := func(what string, was bool, err error, want string) {
				t.Helper()
				require.True(t, was, what)
				leaves(what, err, want)
			}
			was, err := a.setUp(o, 6)
			is("set up", was, err, "it 6 | redisson_sc:{it} 6")
			one, err := a.acquire(o, 1, how{})
			leaves("one for ever", err, "it 5, {it}:timeout {#:no lease}")
			three, err := a.acquire(o, 3, how{lease: 20 * time.Second})
			leaves("three for 20 s", err, "it 2, {it}:timeout {#:20s #:20s #:20s #:no lease}")
			leaves("a lease for the first", a.updateLease(o, one[0], time.Minute), "it 2, {it}:timeout {#:20s #:20s #:20s #:60s}")
			leaves("none for another", a.updateLease(o, three[0], 0), "it 2, {it}:timeout {#:20s #:20s #:60s #:no lease}")
			leaves("release one", a.release(o, 1, one), "it 3, {it}:timeout {#:20s #:20s #:no lease} | redisson_sc:{it} 3")
			leaves("release two", a.release(o, 2, three[1:]), "it 5, {it}:timeout {#:no lease} | redisson_sc:{it} 2")
			leaves("add", a.add(o, 4), "it 9, {it}:timeout {#:no lease} | redisson_sc:{it} 4")
			leaves("take away", a.add(o, -2), "it 7, {it}:timeout {#:no lease}")
			leaves("set the total", a.setTotal(o, 5), "it 4, {it}:timeout {#:no lease} | redisson_sc:{it} 5")
			leaves("set the same total", a.setTotal(o, 5), "it 4, {it}:timeout {#:no lease}")
			total, err := a.total(o)
			leaves("ask for it", err, "it 4, {it}:timeout {#:no lease}")
			require.EqualValues(t, 5, total)
			was, err = a.expire(o, time.Minute)
			is("expire", was, err, "it 4 60s, {it}:timeout {#:no lease} 60s")
			two, err := a.acquire(o, 2, how{lease: 20 * time.Second})
			leaves("two more", err, "it 2 60s, {it}:timeout {#:20s #:20s #:no lease} 60s")
			was, err = a.persist(o)
			is("expire no more", was, err, "it 2, {it}:timeout {#:20s #:20s #:no lease}")
			was, err = a.tryRelease(o, 2, two)
			is("try to release two", was, err, "it 4, {it}:timeout {#:no lease} | redisson_sc:{it} 2")
			was, err = a.tryRelease(o, 2, two)
			require.False(t, was)
			leaves("again", err, "it 4, {it}:timeout {#:no lease}")
			was, err = a.remove(o)
			is("delete", was, err, "")
			leaves("set the total of nothing", a.setTotal(o, 3), "it 3 | redisson_sc:{it} 3")
		})
	}
}

// What waits in a fair queue, without the deadlines, which differ on purpose: ours are shorter and are moved on.
func TestAFairQueueHasTheSameTraces(t *testing.T) {
	w := singleWorld(t)
	for _, make := range []func(*testing.T) actor{w.java, w.golang} {
		holder, one, other := make(t), make(t), make(t)
		t.Run(holder.side(), func(t *testing.T) {
			t.Parallel()
			cases.Add(1)
			o := w.object("fair")
			require.NoError(t, holder.lock(o, how{}))
			var waits []<-chan error
			for i, a := range []actor{one, other} {
				waits = append(waits, start(func() error { return a.lock(o, how{}) }))
				eventually(t, "a place in the queue", func() bool { return w.queued(t, o) == int64(i+1) })
			}
			queue, err := w.client.LRange(t.Context(), "redisson_lock_queue:{"+o.name+"}", 0, -1).Result()
			require.NoError(t, err)
			deadlines, err := w.client.ZRangeWithScores(t.Context(), "redisson_lock_timeout:{"+o.name+"}", 0, -1).Result()
			require.NoError(t, err)
			require.Len(t, deadlines, 2)
			var members []string
			for _, deadline := range deadlines {
				members = append(members, deadline.Member.(string))
			}
			require.ElementsMatch(t, queue, members)
			for _, owner := range queue {
				require.Regexp(t, ownerPattern, owner)
			}
			if holder.side() == "Java" {
				require.Equal(t, queue, members, "its deadlines are a chain")
			}
			// Each of Redisson's waiters listens on a channel of its own. Of ours the first does; one channel more is for all of a process.
			own := "redisson_lock__channel:{" + o.name + "}:"
			channels := []string{own + queue[0], own + queue[1]}
			if holder.side() == "Go" {
				session, _, _ := strings.Cut(queue[1], ":")
				channels[1] = "redlatch_fair_row:{" + o.name + "}:" + session
			}
			eventually(t, "each to hear of its turn", func() bool {
				counts, err := w.client.PubSubNumSub(t.Context(), channels...).Result()
				return err == nil && counts[channels[0]] == 1 && counts[channels[1]] == 1
			})
			require.NoError(t, holder.unlock(o))
			await(t, "the lock", waits[0])
			require.EqualValues(t, 1, w.queued(t, o))
			require.EqualValues(t, 1, w.count(t, o, queue[0]))
			require.NoError(t, one.unlock(o))
			await(t, "the lock", waits[1])
			require.NoError(t, other.unlock(o))
			require.Empty(t, w.keys(t, o))
		})
	}
}

// How steps are said.

func by(i int, do func(actor, object) error) func([]actor, object) error {
	return func(actors []actor, o object) error { return do(actors[i], o) }
}

func byLease(i, seconds int) func([]actor, object) error {
	return func(actors []actor, o object) error {
		return actors[i].lock(o, how{lease: time.Duration(seconds) * time.Second})
	}
}

func take(a actor, o object) error { return a.lock(o, how{}) }

// refused takes what the actor has and may not take again. To say that somebody else has it would be wrong.
func refused(a actor, o object) error {
	if err := a.tryLock(o, 0); err == nil || errors.Is(err, errBusy) {
		return fmt.Errorf("to take it again: %v", err)
	}
	return nil
}

func force(a actor, o object) error { _, err := a.forceUnlock(o); return err }

func read(seconds int) func(actor, object) error {
	return func(a actor, o object) error {
		o.kind = "read"
		return a.lock(o, how{lease: time.Duration(seconds) * time.Second})
	}
}

func unread(a actor, o object) error {
	o.kind = "read"
	return a.unlock(o)
}

func setUpWith(n int64) func([]actor, object) error {
	return func(actors []actor, o object) error { _, err := actors[0].setUp(o, n); return err }
}

func acquireN(n int64, seconds int) func([]actor, object) error {
	return func(actors []actor, o object) error {
		_, err := actors[0].acquire(o, n, how{lease: time.Duration(seconds) * time.Second})
		return err
	}
}

func releaseN(n int64) func([]actor, object) error {
	return func(actors []actor, o object) error { return actors[1].release(o, n, nil) }
}

func tryReleaseN(n int64) func([]actor, object) error {
	return func(actors []actor, o object) error { _, err := actors[1].tryRelease(o, n, nil); return err }
}

func addN(d int64) func([]actor, object) error {
	return func(actors []actor, o object) error { return actors[0].add(o, d) }
}

func remove(actors []actor, o object) error { _, err := actors[0].remove(o); return err }
