package suite_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// registered has the clients of a test report to the registry, which those of other tests do not.
func registered(t *testing.T) { t.Setenv("REDLATCH_REGISTRY", "on") }

// inRegistry runs a test on fake time with a client that is in the registry, and another connection to its server.
func inRegistry(t *testing.T, test func(t *testing.T, m *miniredis.Miniredis, client *redis.Client)) {
	registered(t)
	redistest.Bubble(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(5 * time.Minute) }) // what is held with a client that is closed by then is lost, and workers end
		m, client := redistest.InMemory(t)
		test(t, m, client)
	})
}

// An entry is one as a reader has it.
type entry struct {
	key    string
	about  registry.About
	seen   string
	things []registry.Thing
}

// entries are those of a registry.
func entries(t *testing.T, rdb redis.UniversalClient, prefix string) (all []entry) {
	t.Helper()
	ctx := t.Context()
	for bucket := range registry.Buckets {
		uuids, err := rdb.ZRange(ctx, registry.Index(prefix, bucket), 0, -1).Result()
		require.NoError(t, err)
		for _, uuid := range uuids {
			e := entry{key: registry.Entry(prefix, uuid)}
			fields, err := rdb.HGetAll(ctx, e.key).Result()
			require.NoError(t, err)
			if len(fields) == 0 {
				continue
			}
			e.seen = fields[registry.SeenField]
			e.about, err = registry.ParseAbout(fields[registry.AboutField])
			require.NoError(t, err)
			for _, field := range slices.Sorted(maps.Keys(fields)) {
				if registry.IsThing(field) {
					thing, err := registry.ParseThing(field, fields[field])
					require.NoError(t, err)
					e.things = append(e.things, thing)
				}
			}
			all = append(all, e)
		}
	}
	return all
}

// only is the one entry that there is.
func only(t *testing.T, rdb redis.UniversalClient, prefix string) entry {
	t.Helper()
	all := entries(t, rdb, prefix)
	require.Len(t, all, 1)
	return all[0]
}

// kinds are those of the things of an entry, with their keys, holds and waiters.
func (e entry) kinds() (all []string) {
	for _, thing := range e.things {
		all = append(all, fmt.Sprintf("%s %s %d %d", thing.Kind, thing.Key, thing.Holds, thing.Waiters))
	}
	return all
}

// number is what tells the owners of a client apart.
func number(owner string) string { return owner[strings.LastIndexByte(owner, ':')+1:] }

// kept are holds that no test gives back. The garbage collector is not of a test's bubble, and would end them from outside.
var kept []*redlatch.Hold

// acquired is a hold that is kept.
func acquired(t *testing.T, lock redlatch.Locker, opts ...redlatch.Option) *redlatch.Hold {
	t.Helper()
	hold, err := lock.Lock(t.Context(), opts...)
	require.NoError(t, err)
	kept = append(kept, hold)
	return hold
}

func TestWhatAClientHoldsAndWaitsForIsInItsEntry(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		other := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = other.Close() })
		require.NoError(t, redlatch.Configure(other, redlatch.WithoutRegistry()))
		acquired(t, rlock.New(other, "theirs"))
		acquired(t, rlock.New(other, "their red"))
		acquired(t, fairlock.New(other, "their fair"))
		acquired(t, rwlock.New(other, "their rw").Writer())
		began := time.Now()

		plain := acquired(t, rlock.New(client, "plain"))
		again := acquired(t, rlock.New(client, "plain2"))
		inner, err := rlock.New(client, "plain2").Lock(again.Context(t.Context()))
		require.NoError(t, err)
		acquired(t, fairlock.New(client, "fair"))
		acquired(t, spinlock.New(client, "spin"))
		acquired(t, fencedlock.New(client, "fenced"))
		rw := rwlock.New(client, "rw")
		writing := acquired(t, rw.Writer())
		reading, err := rw.RLock(writing.Context(t.Context()))
		require.NoError(t, err)
		kept = append(kept, reading)
		acquired(t, rwlock.New(client, "rw2").Reader())
		acquired(t, rwlock.New(client, "rw2").Reader())
		acquired(t, multilock.NewGroup(client, "group", []string{"a", "b"}))
		acquired(t, multilock.New([]redlatch.Locker{rlock.New(client, "m1"), rlock.New(client, "m2")}))
		acquired(t, redlock.New([]redlatch.Client{client}, "red"))
		permits := permitsemaphore.New(client, "permits")
		yes(t, call(permits.TrySetPermits(t.Context(), 3)))
		permit, err := permits.Acquire(t.Context(), 2)
		require.NoError(t, err)

		time.Sleep(250 * time.Millisecond)
		waits, cancel := context.WithCancel(t.Context())
		defer cancel()
		pool := semaphore.New(client, "pool")
		yes(t, call(pool.TrySetPermits(t.Context(), 0)))
		latch := countdownlatch.New(client, "latch")
		yes(t, call(latch.TrySetCount(t.Context(), 1)))
		for _, wait := range []func() error{
			func() error { _, err := rlock.New(client, "theirs").Lock(waits); return err },
			func() error { _, err := fairlock.New(client, "their fair").Lock(waits); return err },
			func() error { _, err := redlock.New([]redlatch.Client{client}, "their red").Lock(waits); return err },
			func() error { _, err := rwlock.New(client, "their rw").RLock(waits); return err },
			func() error { _, err := rwlock.New(client, "their rw").Writer().Lock(waits); return err },
			func() error { return pool.Acquire(waits, 1) },
			func() error { _, err := permits.Acquire(waits, 2); return err },
			func() error { return latch.Await(waits) },
		} {
			go func() {
				if err := wait(); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		e := only(t, client, "")
		require.Equal(t, []string{
			"fair_lock fair 1 0", "fair_lock their fair 0 1", "fenced_lock fenced 1 0", "group_lock group 1 0", "latch latch 0 1",
			"lock m1 1 0", "lock m2 1 0", "lock plain 1 0", "lock plain2 2 0", "lock red 1 0", "lock theirs 0 1",
			"permit_semaphore permits 2 1", "read_lock rw 1 0", "read_lock rw2 2 0", "read_write_lock their rw 0 2",
			"redlock their red 0 1", "semaphore pool 0 1",
			"spin_lock spin 1 0", "write_lock rw 1 0",
		}, e.kinds())
		for _, thing := range e.things {
			if thing.Holds > 0 {
				require.InDelta(t, began.UnixMilli(), thing.HeldSince, 20, thing.Key)
				require.NotEmpty(t, thing.Owners)
				require.Equal(t, thing.HeldSince, thing.Owners[0].Since)
			}
			if thing.Waiters > 0 {
				require.InDelta(t, began.Add(250*time.Millisecond).UnixMilli(), thing.WaitingSince, 20, thing.Key)
			}
			switch thing.Key {
			case "plain":
				require.Equal(t, number(plain.Owner()), thing.Owners[0].ID)
				require.Equal(t, plain.Owner(), registry.Owned(strings.SplitAfterN(e.key, ":", 3)[2], thing.Owners[0]))
			case "permits":
				require.ElementsMatch(t, permit.IDs(), []string{thing.Owners[0].ID, thing.Owners[1].ID})
			}
		}
		require.NoError(t, inner.Unlock(t.Context()))
		require.NoError(t, plain.Unlock(t.Context()))
		cancel()
		time.Sleep(6 * time.Second)
		require.Equal(t, []string{
			"fair_lock fair 1 0", "fenced_lock fenced 1 0", "group_lock group 1 0", "lock m1 1 0", "lock m2 1 0", "lock plain2 1 0", "lock red 1 0",
			"permit_semaphore permits 2 0", "read_lock rw 1 0", "read_lock rw2 2 0", "spin_lock spin 1 0", "write_lock rw 1 0",
		}, only(t, client, "").kinds())
	})
}

func TestAnEntrySaysWhoItsClientIsAndNothingPrivate(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		require.NoError(t, redlatch.Configure(client, redlatch.WithLabel("blue\n"+strings.Repeat("x", 100))))
		acquired(t, rlock.New(client, "lock", redlatch.WithWatchdogTimeout(time.Minute)))
		time.Sleep(2 * time.Second)
		e := only(t, client, "")
		host, err := os.Hostname()
		require.NoError(t, err)
		program, err := os.Executable()
		require.NoError(t, err)
		require.Equal(t, registry.Version, e.about.Version)
		require.Equal(t, registry.Text(host), e.about.Host)
		require.Equal(t, os.Getpid(), e.about.PID)
		require.Equal(t, filepath.Base(program), e.about.Program)
		require.Equal(t, "blue?"+strings.Repeat("x", 59), e.about.Label)
		require.Len(t, e.about.Instance, 16)
		require.Positive(t, e.about.Started)
		require.Equal(t, "go", e.about.Language)
		require.Equal(t, runtime.Version(), e.about.Runtime)
		require.True(t, strings.HasPrefix(e.about.Library, "redlatch"), e.about.Library)
		require.True(t, strings.HasPrefix(e.about.Client, "go-redis v9."), e.about.Client)
		require.EqualValues(t, 60_000, e.about.Timeout)

		fields, err := client.HGetAll(t.Context(), e.key).Result()
		require.NoError(t, err)
		text := fmt.Sprint(fields)
		for _, private := range append(os.Args, filepath.Dir(program), os.Getenv("PATH"), os.Getenv("HOME")+"/") {
			require.NotContains(t, text, private)
		}
	})
}

// The clock of a client may be wrong by years.
func TestTimesAreThoseOfTheServer(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		acquired(t, rlock.New(client, "lock"))
		server := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
		m.SetTime(server)
		time.Sleep(1100 * time.Millisecond)
		e := only(t, client, "")
		require.Equal(t, fmt.Sprint(server.UnixMilli()), e.seen)
		require.InDelta(t, server.Add(-time.Second).UnixMilli(), e.things[0].HeldSince, 20)
	})
}

// counted counts the scripts of the registry that a server is sent. While hang is not nil they hang.
type counted struct {
	n    atomic.Int64
	hang atomic.Pointer[chan struct{}]
}

func count(m *miniredis.Miniredis) *counted {
	c := &counted{}
	m.Server().SetPreHook(func(_ *server.Peer, name string, args ...string) bool {
		if strings.HasPrefix(strings.ToLower(name), "eval") && strings.HasPrefix(args[2], "redlatch_client") {
			if strings.EqualFold(name, "evalsha") {
				c.n.Add(1)
			}
			if hang := c.hang.Load(); hang != nil {
				<-*hang
			}
		}
		return false
	})
	return c
}

func TestAClientThatIsIdleOrGivesBackAtOnceSendsNothingToTheRegistry(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		sent := count(m)
		lock := rlock.New(client, "lock")
		for range 200 {
			hold := acquired(t, lock)
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, hold.Unlock(t.Context()))
		}
		time.Sleep(time.Hour)
		require.Zero(t, sent.n.Load())
		hold := acquired(t, lock)
		time.Sleep(999 * time.Millisecond)
		require.Zero(t, sent.n.Load())
		time.Sleep(time.Second)
		require.EqualValues(t, 1, sent.n.Load())
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestACleanEndLeavesNothingInTheRegistry(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		hold := acquired(t, rlock.New(client, "lock"))
		time.Sleep(2 * time.Second)
		require.Len(t, entries(t, client, ""), 1)
		require.NoError(t, hold.Unlock(t.Context()))
		time.Sleep(10 * time.Second) // the next report would come, and the linger passes
		require.Empty(t, m.Keys())
	})
}

// Its client is closed in the midst of it, which looks to the server like the end of the process.
func TestTheEntryOfAProcessThatDiedStaysUntilItsLeasesAreLongOver(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		reader := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = reader.Close() })
		acquired(t, rlock.New(client, "lock"))
		time.Sleep(7 * time.Second)
		before := only(t, reader, "")
		require.NoError(t, client.Close())
		time.Sleep(10 * time.Minute)
		require.Equal(t, before, only(t, reader, ""))
		time.Sleep(time.Minute)
		require.Empty(t, m.Keys())
	})
}

func TestAnEntryThatWasFlushedIsWrittenAnew(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		acquired(t, rlock.New(client, "lock"))
		time.Sleep(2 * time.Second)
		before := only(t, client, "")
		m.FlushAll()
		time.Sleep(6 * time.Second) // the lost lock is noticed later
		after := only(t, client, "")
		require.Equal(t, before.about.Instance, after.about.Instance)
		require.Equal(t, before.kinds(), after.kinds())
	})
}

func TestTheOptionsOfTheRegistry(t *testing.T) {
	for name, test := range map[string]struct {
		env    string
		opts   []redlatch.ClientOption
		prefix string
		want   int
	}{
		"none":                           {want: 1},
		"a prefix":                       {opts: []redlatch.ClientOption{redlatch.WithRegistry("tenant:")}, prefix: "tenant:", want: 1},
		"not where others are, then":     {opts: []redlatch.ClientOption{redlatch.WithRegistry("tenant:")}},
		"without":                        {opts: []redlatch.ClientOption{redlatch.WithoutRegistry()}},
		"the environment wins":           {env: "off", opts: []redlatch.ClientOption{redlatch.WithRegistry("")}},
		"no other value of it counts":    {env: "no", want: 1},
		"a label alone changes no other": {opts: []redlatch.ClientOption{redlatch.WithLabel("x")}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
				if test.env != "" {
					require.NoError(t, os.Setenv("REDLATCH_REGISTRY", test.env)) // which the test restores
				}
				require.NoError(t, redlatch.Configure(client, test.opts...))
				acquired(t, rlock.New(client, "lock"))
				time.Sleep(2 * time.Second)
				require.Len(t, entries(t, client, test.prefix), test.want)
			})
		})
	}
}
