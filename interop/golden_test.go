package interop_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// The same steps have the same traces whichever side takes them, but for two things. Each reader's marks of ours carry
// the longest promise, because Java deletes the newest mark whichever hold is given back. The members of our multi-lock
// are holds of their own. What is written here was compared with both. A wait in a fair queue is begun and not ended,
// so the actors of those steps wait on goroutines of their own.
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
		{"give back", by(0, actor.unlock), "| redisson_lock__channel:{it} 0", ""},
	}},
	{"spin", []step{
		{"take", by(0, take), "it {A:1} 30s", ""},
		{"take again", by(0, take), "it {A:2} 30s", ""},
		{"give back", by(0, actor.unlock), "it {A:1} 30s", ""},
		{"give back again", by(0, actor.unlock), "", ""},
	}},
	{"fenced", []step{
		{"take", by(0, take), "it {A:1} 30s, redisson_lock_token:{it} 1", ""},
		{"take again", by(0, take), "it {A:2} 30s, redisson_lock_token:{it} 2", ""},
		{"give back", by(0, actor.unlock), "it {A:1} 30s, redisson_lock_token:{it} 2", ""},
		{"give back again", by(0, actor.unlock), "redisson_lock_token:{it} 2 | redisson_lock__channel:{it} 0", ""},
	}},
	{"write", []step{
		{"write", by(0, take), "it {A:write:1 mode:write} 30s", ""},
		{"read beside", by(0, read(30)), "it {A:1 A:write:1 mode:write} 30s, {it}:A:rwlock_timeout:1 1 30s", ""},
		{"stop reading", by(0, unread), "it {A:write:1 mode:write} 30s", ""},
		{"stop writing", by(0, actor.unlock), "| redisson_rwlock:{it} 1", ""},
		{"write again", by(1, take), "it {B:write:1 mode:write} 30s", ""},
		{"by force", by(0, force), "| redisson_rwlock:{it} 1", ""},
	}},
	{"read", []step{
		{"read for 30 s", byLease(0, 30), "it {A:1 mode:read} 30s, {it}:A:rwlock_timeout:1 1 30s", ""},
		{"again for 60 s", byLease(0, 60), "it {A:2 mode:read} 60s, {it}:A:rwlock_timeout:1 1 30s, {it}:A:rwlock_timeout:2 1 60s",
			"it {A:2 mode:read} 60s, {it}:A:rwlock_timeout:1 1 60s, {it}:A:rwlock_timeout:2 1 60s"},
		{"another for 10 s", byLease(1, 10), "it {A:2 B:1 mode:read} 60s, {it}:A:rwlock_timeout:1 1 30s, {it}:A:rwlock_timeout:2 1 60s, {it}:B:rwlock_timeout:1 1 10s",
			"it {A:2 B:1 mode:read} 60s, {it}:A:rwlock_timeout:1 1 60s, {it}:A:rwlock_timeout:2 1 60s, {it}:B:rwlock_timeout:1 1 10s"},
	}},
	{"semaphore", []step{
		{"set up", setUpWith(5), "it 5 | redisson_sc:{it} 5", ""},
		{"acquire 3", acquireN(3, 0), "it 2", ""},
		{"release 2", releaseN(2), "it 4 | redisson_sc:{it} 4", ""},
		{"add", addN(6), "it 10 | redisson_sc:{it} 10", ""},
		{"drain", func(a []actor, o object) error { _, err := a[0].drain(o); return err }, "it 0", ""},
		{"delete", remove, "", ""},
	}},
	{"permits", []step{
		{"set up", setUpWith(4), "it 4 | redisson_sc:{it} 4", ""},
		{"acquire 1 for ever", acquireN(1, 0), "it 3, {it}:timeout {#:no lease}", ""},
		{"acquire 2 for 20 s", acquireN(2, 20), "it 1, {it}:timeout {#:20s #:20s #:no lease}", ""},
	}},
	{"latch", []step{
		{"set", setUpWith(2), "it 2 | redisson_countdownlatch__channel__{it} 1", ""},
		{"count down", by(0, actor.countDown), "it 1", ""},
		{"count down to zero", by(0, actor.countDown), "| redisson_countdownlatch__channel__{it} 0", ""},
		{"count down below zero", by(0, actor.countDown), "", ""},
	}},
	{"multi", []step{
		{"take", by(0, take), "it:0 {A:1} 30s, it:1 {A:1} 30s, it:2 {A:1} 30s", "it:0 {A:1} 30s, it:1 {B:1} 30s, it:2 {C:1} 30s"},
		{"give back", by(0, actor.unlock), "| redisson_lock__channel:{it:0} 0 redisson_lock__channel:{it:1} 0 redisson_lock__channel:{it:2} 0", ""},
	}},
	{"group", []step{
		{"take", by(0, take), "it {7pNoDdizVy2xY792MaFv+w:A 7pNoDdizVy2xY792MaFv+w:A:expire_time:30s 7pNoDdizVy2xY792MaFv+w:A:lock_count:1 " +
			"kIX2DFOX4IWct7G7K6tV9A:A kIX2DFOX4IWct7G7K6tV9A:A:expire_time:30s kIX2DFOX4IWct7G7K6tV9A:A:lock_count:1} 30s", ""},
		{"give back", by(0, actor.unlock), "| redisson_lock__channel:{it} 0", ""},
	}},
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
			for i, owner := range queue {
				require.Regexp(t, ownerPattern, owner)
				require.Equal(t, owner, deadlines[i].Member, "the deadlines are a chain")
			}
			eventually(t, "each to listen on a channel of its own", func() bool {
				counts, err := w.client.PubSubNumSub(t.Context(), "redisson_lock__channel:{"+o.name+"}:"+queue[0],
					"redisson_lock__channel:{"+o.name+"}:"+queue[1]).Result()
				return err == nil && counts["redisson_lock__channel:{"+o.name+"}:"+queue[0]] == 1 &&
					counts["redisson_lock__channel:{"+o.name+"}:"+queue[1]] == 1
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

// The states of a holder who is neither of them, written by hand, as both sides read them.
func TestStatesWrittenByHandAreReadTheSameByBothSides(t *testing.T) {
	w := singleWorld(t)
	const u = "b983c153-7421-469a-addb-44fb92259a1b:42"
	for name, golden := range map[string]struct {
		kind   string
		write  func(ctx context.Context, name string) error
		locked bool
	}{
		"a lock": {"lock", func(ctx context.Context, name string) error { return w.client.HSet(ctx, name, u, 2).Err() }, true},
		"a fenced lock": {"fenced", func(ctx context.Context, name string) error {
			return errorsOf(w.client.HSet(ctx, name, u, 2), w.client.Set(ctx, "redisson_lock_token:{"+name+"}", 2, 0))
		}, true},
		"a fair lock": {"fair", func(ctx context.Context, name string) error { return w.client.HSet(ctx, name, u, 1).Err() }, true},
		"a writer": {"write", func(ctx context.Context, name string) error {
			return w.client.HSet(ctx, name, "mode", "write", u+":write", 3).Err()
		}, true},
		"not a writer": {"write", func(ctx context.Context, name string) error { return readers(ctx, w, name, u) }, false},
		"a reader":     {"read", func(ctx context.Context, name string) error { return readers(ctx, w, name, u) }, true},
		"a writer reads": {"read", func(ctx context.Context, name string) error {
			return errorsOf(w.client.HSet(ctx, name, "mode", "write", u+":write", 1), w.client.HSet(ctx, name, u, 1), w.client.Set(ctx, "{"+name+"}:"+u+":rwlock_timeout:1", 1, time.Minute))
		}, true},
		"a writer alone": {"read", func(ctx context.Context, name string) error {
			return w.client.HSet(ctx, name, "mode", "write", u+":write", 1).Err()
		}, false},
		"a reentrant one": {"nonreentrant", func(ctx context.Context, name string) error { return w.client.HSet(ctx, name, u, 7).Err() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, a := range []actor{w.java(t), w.golang(t)} {
				cases.Add(1)
				o := w.object(golden.kind)
				require.NoError(t, golden.write(t.Context(), o.name))
				require.NoError(t, w.client.PExpire(t.Context(), o.name, 42*time.Second).Err())
				is, err := a.isLocked(o)
				require.NoError(t, err)
				require.Equal(t, golden.locked, is, a.side())
				n, err := a.holds(o)
				require.NoError(t, err)
				require.Zero(t, n, a.side())
				require.ErrorIs(t, a.unlock(o), errNotOwner, a.side())
				if golden.locked {
					ttl, err := a.ttl(o)
					require.NoError(t, err)
					require.InDelta(t, 42, ttl.Seconds(), 3, a.side())
				}
				if o.kind == "fenced" {
					last, err := a.lastToken(o)
					require.NoError(t, err)
					require.EqualValues(t, 2, last, a.side())
				}
				if o.kind == "read" && name == "a reader" {
					require.NoError(t, a.tryLock(o, 0), a.side())
					require.NoError(t, a.unlock(o), a.side())
				} else {
					require.ErrorIs(t, a.tryLock(o, 0), errBusy, a.side())
				}
				forced, err := a.forceUnlock(o)
				require.NoError(t, err)
				require.Equal(t, golden.locked && name != "a writer reads", forced, a.side())
			}
		})
	}
}

func readers(ctx context.Context, w *world, name, owner string) error {
	return errorsOf(w.client.HSet(ctx, name, "mode", "read", owner, 2),
		w.client.Set(ctx, "{"+name+"}:"+owner+":rwlock_timeout:1", 1, time.Minute),
		w.client.Set(ctx, "{"+name+"}:"+owner+":rwlock_timeout:2", 1, time.Minute))
}

func errorsOf(commands ...redis.Cmder) error {
	for _, command := range commands {
		if err := command.Err(); err != nil {
			return err
		}
	}
	return nil
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

func addN(d int64) func([]actor, object) error {
	return func(actors []actor, o object) error { return actors[0].add(o, d) }
}

func remove(actors []actor, o object) error { _, err := actors[0].remove(o); return err }
