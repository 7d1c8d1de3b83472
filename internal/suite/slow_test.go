package suite_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// A slowness keeps the events of what lasts for long.
type slowness struct {
	mu   sync.Mutex
	seen []redlatch.Event
	then func() // called with each, unless it is nil
}

func (s *slowness) option() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		if e.Kind == redlatch.EventSlowWait || e.Kind == redlatch.EventLongHold {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.seen = append(s.seen, e)
			if s.then != nil {
				s.then()
			}
		}
	}))
}

// all are the events so far.
func (s *slowness) all() []redlatch.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// one is the only event.
func (s *slowness) one(t *testing.T) redlatch.Event {
	t.Helper()
	all := s.all()
	require.Len(t, all, 1)
	return all[0]
}

// locks are one of each kind, all of which are in the way of the same kind of another client.
func locks(client redlatch.Client, opts ...redlatch.Option) map[string]redlatch.Locker {
	return map[string]redlatch.Locker{
		"lock":        rlock.New(client, "plain", opts...),
		"fair lock":   fairlock.New(client, "fair", opts...),
		"spin lock":   spinlock.New(client, "spin", opts...),
		"fenced lock": fencedlock.New(client, "fenced", opts...),
		"write lock":  rwlock.New(client, "rw", opts...).Writer(),
		"group lock":  multilock.NewGroup(client, "group", []string{"a", "b"}, opts...),
		"multi-lock":  multilock.New([]redlatch.Locker{rlock.New(client, "m1"), rlock.New(client, "m2")}, opts...),
		"redlock":     redlock.New([]redlatch.Client{client}, "red", opts...),
	}
}

func TestASlowWaitForALockNamesItsHolder(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		began := time.Now()
		owners := map[string]string{}
		for kind, lock := range locks(other) {
			owners[kind] = acquired(t, lock).Owner()
		}
		// Of the other primitives, the label belongs to the client.
		owners["read lock"] = owners["write lock"]
		rlock.New(other, "any", redlatch.WithLabel("blue"))
		time.Sleep(2 * time.Second)
		for kind, lock := range locks(client, redlatch.WithPoll(time.Minute)) {
			var seen slowness
			_, err := lock.Lock(t.Context(), redlatch.WithWait(3*time.Second), redlatch.WithSlowWait(2*time.Second), seen.option())
			require.ErrorIs(t, err, redlatch.ErrNotAcquired, kind)
			e := seen.one(t)
			require.NoError(t, e.Err, kind)
			require.Equal(t, kind, e.Primitive)
			require.Equal(t, lock.Name(), e.Name)
			require.InDelta(t, 2, e.Duration.Seconds(), 0.1)
			require.NotEmpty(t, e.Holders, kind)
			require.NotEmpty(t, e.Owner, kind)
			for _, h := range e.Holders {
				require.Equal(t, []any{host, os.Getpid(), "blue", false}, []any{h.Host, h.PID, h.Label, h.Own}, kind)
				require.NotEmpty(t, h.Program)
				require.InDelta(t, 0, h.Since.Sub(began).Seconds(), 0.1, kind)
				require.LessOrEqual(t, time.Since(h.Seen), 10*time.Second, kind)
				if owner := owners[kind]; owner != "" {
					require.Equal(t, owner, h.Owner, kind)
					require.Equal(t, owner, e.Owner, kind)
				}
			}
			members := []string{}
			for _, h := range e.Holders {
				members = append(members, h.Member+h.Value+h.Side)
			}
			require.Equal(t, map[string][]string{"multi-lock": {"m1", "m2"}, "redlock": {"1 (in-memory)"}, "group lock": {"a", "b"}, "write lock": {"write"}}[kind],
				nothing(members), kind)
		}
	})
}

// nothing is nil for texts that are empty.
func nothing(texts []string) []string {
	if strings.Join(texts, "") == "" {
		return nil
	}
	return texts
}

// A composite tells of itself. The members of a multi-lock keep what their own New says, and the servers of a redlock tell nothing.
func TestOptionsOfLongTimesOfACompositeAreNotItsMembers(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		var whole, member slowness
		a, b := rlock.New(client, "a", redlatch.WithLongHold(time.Second), member.option()), rlock.New(client, "b")
		hold := acquired(t, multilock.New([]redlatch.Locker{a, b}, redlatch.WithLongHold(3*time.Second), redlatch.WithSlowWait(time.Hour), whole.option()))
		var log page
		red := acquired(t, redlock.New([]redlatch.Client{client}, "red", redlatch.WithLongHold(3*time.Second), member.option(),
			redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))) // the logger is the servers' too
		time.Sleep(2 * time.Second)
		require.Equal(t, "a", member.one(t).Name)
		time.Sleep(2 * time.Second)
		require.Equal(t, []any{"multi-lock", 3 * time.Second}, []any{whole.one(t).Primitive, whole.one(t).Duration})
		require.Len(t, member.all(), 2)
		require.Equal(t, "redlock", member.all()[1].Primitive)
		require.Equal(t, 1, strings.Count(log.String(), "held for long"), log.String())
		require.NoError(t, hold.Unlock(t.Context()))
		require.NoError(t, red.Unlock(t.Context()))
	})
}

func TestASlowWaitForACounterTellsWhatIsLeft(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		slow, wait := redlatch.WithSlowWait(2*time.Second), redlatch.WithWait(3*time.Second)
		pool := semaphore.New(client, "pool")
		yes(t, call(pool.TrySetPermits(t.Context(), 2)))
		latch := countdownlatch.New(client, "latch")
		yes(t, call(latch.TrySetCount(t.Context(), 3)))
		permits := permitsemaphore.New(client, "permits")
		yes(t, call(permits.TrySetPermits(t.Context(), 1)))
		permit, err := permits.Acquire(t.Context(), 1)
		require.NoError(t, err)
		for _, test := range []struct {
			wait func(opts ...redlatch.Option) error
			want redlatch.Event
		}{
			{func(opts ...redlatch.Option) error { return pool.Acquire(t.Context(), 3, opts...) }, redlatch.Event{Primitive: "semaphore", Permits: 3, Left: 2}},
			{func(opts ...redlatch.Option) error { return latch.Await(t.Context(), opts...) }, redlatch.Event{Primitive: "latch", Left: 3}},
			{func(opts ...redlatch.Option) error { _, err := permits.Acquire(t.Context(), 1, opts...); return err },
				redlatch.Event{Primitive: "permit semaphore", Permits: 1, Owner: permit.IDs()[0]}},
		} {
			var seen slowness
			require.ErrorIs(t, test.wait(slow, wait, seen.option()), redlatch.ErrNotAcquired)
			e := seen.one(t)
			require.NoError(t, e.Err)
			require.Equal(t, test.want, redlatch.Event{Primitive: e.Primitive, Permits: e.Permits, Left: e.Left, Owner: e.Owner})
		}
		require.NoError(t, permit.Release(t.Context()))
	})
}

// A permit of this process is held for long; a plain semaphore and a latch have no holds.
func TestALongHoldIsToldOf(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		for kind, lock := range locks(client) {
			var seen slowness
			hold := acquired(t, lock, redlatch.WithLongHold(time.Second), seen.option())
			time.Sleep(time.Hour / 2)
			e := seen.one(t)
			require.Equal(t, []any{redlatch.EventLongHold, kind, lock.Name(), hold.Owner(), time.Second}, []any{e.Kind, e.Primitive, e.Name, e.Owner, e.Duration})
			require.NoError(t, hold.Unlock(t.Context()))

			var short slowness
			hold = acquired(t, lock, redlatch.WithLongHold(time.Second), short.option())
			time.Sleep(time.Second - time.Millisecond)
			require.NoError(t, hold.Unlock(t.Context()))
			time.Sleep(time.Hour)
			require.Empty(t, short.all())
		}
		var seen slowness
		permits := permitsemaphore.New(client, "permits")
		yes(t, call(permits.TrySetPermits(t.Context(), 1)))
		permit, err := permits.Acquire(t.Context(), 1, redlatch.WithLongHold(time.Second), seen.option())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, permit.IDs()[0], seen.one(t).Owner)
		require.NoError(t, permit.Release(t.Context()))
		err = semaphore.New(client, "pool").Acquire(t.Context(), 1, redlatch.WithLongHold(time.Second))
		require.ErrorIs(t, err, redlatch.ErrInvalid)
		require.ErrorContains(t, err, "WithLongHold does not apply")
	})
}

// A questions is a hook that counts what slow waits ask: how an rlock stands, and the registry.
type questions struct {
	redis.Hook
	lock, registry atomic.Int64
}

func (q *questions) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); args[0] == "evalsha" {
			switch {
			case strings.HasPrefix(fmt.Sprint(args[3]), "redlatch_client"):
				q.registry.Add(1)
			case len(args) == 4: // Inspect, which has no arguments but the key
				q.lock.Add(1)
			}
		}
		return next(ctx, cmd)
	}
}

func (q *questions) DialHook(next redis.DialHook) redis.DialHook { return next }
func (q *questions) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestASlowWaitAsksOnceAMinute(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		hold := acquired(t, rlock.New(other, "lock"))
		time.Sleep(2 * time.Second)
		sent := &questions{}
		client.AddHook(sent)
		wait := func(opts ...redlatch.Option) {
			_, err := rlock.New(client, "lock", redlatch.WithLinger(0)).Lock(t.Context(), append(opts, redlatch.WithWait(900*time.Millisecond))...)
			require.ErrorIs(t, err, redlatch.ErrNotAcquired)
			time.Sleep(100 * time.Millisecond)
		}
		asked := func(lock, registry int64) {
			t.Helper()
			require.Equal(t, []int64{lock, registry}, []int64{sent.lock.Load(), sent.registry.Load()})
		}
		var seen slowness
		slow, fast := redlatch.WithSlowWait(500*time.Millisecond), redlatch.WithSlowWait(time.Second)
		wait(seen.option())
		wait(fast, seen.option())
		wait(slow, redlatch.WithObserver(nil))
		asked(0, 0)
		wait(slow, seen.option())
		asked(1, 1)
		for range 58 {
			wait(slow, seen.option())
		}
		asked(1, 1)
		wait(slow, seen.option())
		wait(slow, seen.option())
		asked(2, 2)
		rlock.New(client, "any", redlatch.WithoutRegistry())
		time.Sleep(time.Minute)
		wait(slow, seen.option())
		asked(3, 2)
		require.Len(t, seen.all(), 3)
		require.NotEmpty(t, seen.all()[1].Holders[0].Host)
		require.Empty(t, seen.all()[2].Holders[0].Host, "a client that is not in the registry does not ask it")
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestASlowWaitOnAServerNamesTheHostAndTheLabel(t *testing.T) {
	registered(t)
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		name := srv.Key(t, "orders")
		hold := acquired(t, rlock.New(srv.Client(t), name, redlatch.WithLabel("blue")))
		reader := srv.Client(t)
		await(t, "the entry", func() bool { return len(entries(t, reader, "")) > 0 })
		var log page
		var seen slowness
		ctx, cancel := context.WithCancel(t.Context())
		seen.then = cancel
		_, err := rlock.New(srv.Client(t), name, redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), seen.option()).
			Lock(ctx, redlatch.WithSlowWait(10*time.Millisecond))
		require.ErrorIs(t, err, context.Canceled)
		host, err := os.Hostname()
		require.NoError(t, err)
		e := seen.one(t)
		require.NoError(t, e.Err)
		require.Equal(t, []any{hold.Owner(), host, os.Getpid(), "blue"}, []any{e.Owner, e.Holders[0].Host, e.Holders[0].PID, e.Holders[0].Label})
		require.Contains(t, log.String(), "holder.owner="+hold.Owner()+" holder.host="+host)
		require.Contains(t, log.String(), " holder.label=blue holder.held=")
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// A server without the right to the registry, as to the rest: the caller's error stays that of the wait.
func TestAnUnreadableRegistryIsSaidInTheLineAlone(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		acquired(t, rlock.New(other, "lock"))
		client.AddHook(&refuser{err: said("NOPERM No permissions to access a key")})
		var log page
		_, err := rlock.New(client, "lock", redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))).
			Lock(t.Context(), redlatch.WithSlowWait(10*time.Second), redlatch.WithWait(20*time.Second))
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.NotErrorIs(t, err, redlatch.ErrUnavailable)
		require.Equal(t, 1, strings.Count(log.String(), "a call waits for long"))
		require.Contains(t, log.String(), `error="redlatch: the registry could not be asked: NOPERM`)
		require.NotContains(t, log.String(), "without the keys")
	})
}
