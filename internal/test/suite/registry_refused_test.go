package suite_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
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
	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/rlock"
)

// A refuser is a hook that answers an error in the place of the server to what the registry sends.
type refuser struct {
	redis.Hook
	err     error
	between [2]time.Time // when; zero: always
	sent    atomic.Int64
}

func (r *refuser) refuses() bool {
	now := time.Now()
	return r.between[0].IsZero() || now.After(r.between[0]) && now.Before(r.between[1])
}

func (r *refuser) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "redlatch_client") && r.refuses() {
			r.sent.Add(1)
			cmd.SetErr(r.err)
			return r.err
		}
		return next(ctx, cmd)
	}
}

func (r *refuser) DialHook(next redis.DialHook) redis.DialHook { return next }
func (r *refuser) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

type said string

func (s said) Error() string { return string(s) }
func (said) RedisError()     {}

func TestARefusalIsLoggedOnceAndSilencesReports(t *testing.T) {
	for text, test := range map[string]struct {
		hour  int64 // so many sent in an hour
		lines int
	}{
		"NOPERM No permissions to access a key":                                             {1, 1},
		"ERR The user executing the script can't access at least one of the keys mentioned": {1, 1},
		"OOM command not allowed when used memory > 'maxmemory'.":                           {34, 1},
		"READONLY You can't write against a read only replica.":                             {34, 1},
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to":   {34, 1},
		"ERR unknown command 'evalsha', with args beginning with: ":                         {6, 6},
		"WRONGTYPE Operation against a key holding the wrong kind of value":                 {6, 6},
		"LOADING Redis is loading the dataset in memory":                                    {34, 0},
		"MASTERDOWN Link with MASTER is down":                                               {34, 0},
		"CLUSTERDOWN The cluster is down":                                                   {34, 0},
		"CROSSSLOT Keys in request don't hash to the same slot":                             {6, 6},
		"MOVED 3999 127.0.0.1:6381":                                                         {34, 1},
	} {
		t.Run(text, func(t *testing.T) {
			inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
				hook := &refuser{err: said(text)}
				client.AddHook(hook)
				var log page
				var lost atomic.Int64
				hold := acquired(t, rlock.New(client, "lock", redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
					redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
						if e.Kind == redlatch.EventLost {
							lost.Add(1)
						}
					}))))
				time.Sleep(time.Hour - time.Minute)
				require.InDelta(t, test.hour, hook.sent.Load(), float64(test.hour)/20)
				require.Equal(t, test.lines, strings.Count(log.String(), "\n"), log.String())
				require.Equal(t, test.lines, strings.Count(log.String(), "not reported to the registry"))
				require.Zero(t, lost.Load())
				require.NoError(t, hold.Unlock(t.Context()))
				require.Empty(t, m.Keys())
			})
		})
	}
}

// A failover is over in seconds. The client does without the registry for no longer than that and an interval.
func TestReportsThatAreRefusedDuringAFailoverGoOnAfterIt(t *testing.T) {
	for _, text := range []string{
		"READONLY You can't write against a read only replica.", "LOADING Redis is loading the dataset in memory",
		"MASTERDOWN Link with MASTER is down", "CLUSTERDOWN The cluster is down", "OOM command not allowed when used memory > 'maxmemory'.",
	} {
		t.Run(text, func(t *testing.T) {
			inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
				reader := redis.NewClient(redistest.InMemoryOptions(m))
				t.Cleanup(func() { _ = reader.Close() })
				began := time.Now()
				hook := &refuser{err: said(text), between: [2]time.Time{began.Add(3 * time.Second), began.Add(15 * time.Second)}}
				client.AddHook(hook)
				acquired(t, rlock.New(client, "lock"))
				time.Sleep(2 * time.Second)
				before := only(t, reader, "").seen
				time.Sleep(13 * time.Second)
				require.Equal(t, before, only(t, reader, "").seen)
				require.GreaterOrEqual(t, hook.sent.Load(), int64(2), "it is tried at the ordinary interval")
				// The new primary does not have the entry, but the lock: without it the hold would be lost, and no report would name it.
				for _, key := range m.Keys() {
					if key != "lock" {
						m.Del(key)
					}
				}
				time.Sleep(5500 * time.Millisecond)
				require.Equal(t, []string{"lock lock 1 0"}, only(t, reader, "").kinds())
			})
		})
	}
}

func TestAnEntryThatCouldNotBeRemovedDuringAFailoverIsRemovedAfterIt(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, client *redis.Client) {
		began := time.Now()
		client.AddHook(&refuser{err: said("READONLY You can't write against a read only replica."), between: [2]time.Time{began.Add(3 * time.Second), began.Add(15 * time.Second)}})
		hold := acquired(t, rlock.New(client, "lock", briefly.Linger(time.Second)))
		time.Sleep(2 * time.Second)
		require.NoError(t, hold.Unlock(t.Context()))
		time.Sleep(12 * time.Second)
		require.NotEmpty(t, m.Keys())
		time.Sleep(6 * time.Second)
		require.Empty(t, m.Keys())
	})
}

// A flight is a hook that counts the commands of the registry that are under way.
type flight struct {
	redis.Hook
	now, most, sent atomic.Int64
}

func (f *flight) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "redlatch_client") {
			f.sent.Add(1)
			if now := f.now.Add(1); now > f.most.Load() {
				f.most.Store(now)
			}
			defer f.now.Add(-1)
		}
		return next(ctx, cmd)
	}
}

func (f *flight) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f *flight) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestOneReportIsUnderWayAtMostWhileTheServerHangs(t *testing.T) {
	inRegistry(t, func(t *testing.T, m *miniredis.Miniredis, _ *redis.Client) {
		sent, hang := count(m), make(chan struct{})
		defer close(hang)
		options := redistest.InMemoryOptions(m)
		options.ReadTimeout, options.MaxRetries = time.Minute, -1
		client := redis.NewClient(options)
		t.Cleanup(func() { _ = client.Close() })
		hook := &flight{}
		client.AddHook(hook)
		hold := acquired(t, rlock.New(client, "lock"))
		time.Sleep(2 * time.Second) // one is written
		sent.hang.Store(&hang)
		time.Sleep(10 * time.Minute)
		require.EqualValues(t, 1, hook.most.Load())
		require.InDelta(t, 10, hook.sent.Load(), 2, "the next one when the client has given up on the one before")
		require.True(t, hold.Valid())
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// Reports have one connection of the client at most, however long they hang, so renewals have all others.
func TestARegistryThatHangsLosesNoHold(t *testing.T) {
	registered(t)
	srv := redistest.Mini(t)
	sent, hang := count(srv.Mini), make(chan struct{})
	sent.hang.Store(&hang)
	defer close(hang)
	client := srv.Client(t, func(o *redis.Options) {
		o.PoolSize, o.PoolTimeout = 2, 100*time.Millisecond
		o.ReadTimeout = time.Minute // so that the connection hangs for longer than there are leases
	})
	const timeout = 12 * time.Second // which a busy machine does not use up
	hold := acquired(t, rlock.New(client, "lock", redlatch.WithWatchdogTimeout(timeout)))
	await(t, "a report", func() bool { return sent.n.Load() > 0 })
	renewed := func(what string) {
		before := hold.Until()
		await(t, what, func() bool {
			require.True(t, hold.Valid())
			return hold.Until().After(before.Add(timeout / 6))
		})
	}
	renewed("a renewal while the report hangs")
	renewed("another one, with which the next report would be due")
	require.EqualValues(t, 1, sent.n.Load(), "the first has no answer yet")
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestAnEntryIsInOneSlotOfACluster(t *testing.T) {
	registered(t)
	cluster := redistest.Cluster(t, 3, 0)
	for i := range 4 { // whose uuids are of several buckets
		client := cluster.Client(t)
		acquired(t, rlock.New(client, fmt.Sprint("lock", i)))
	}
	reader := cluster.Client(t)
	await(t, "four entries", func() bool { return len(entries(t, reader, "")) == 4 })
}

func TestTheDocumentedRightsAreEnoughForTheRegistry(t *testing.T) {
	registered(t)
	srv := redistest.Process(t)
	admin := srv.Client(t)
	require.NoError(t, admin.Do(t.Context(), documented(t)...).Err())
	require.NoError(t, admin.ACLLogReset(t.Context()).Err())
	hold := acquired(t, rlock.New(srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "app", "secret" }), "app:lock", briefly.Linger(0)))
	await(t, "the entry", func() bool { return len(entries(t, admin, "")) == 1 })
	require.NoError(t, hold.Unlock(t.Context()))
	await(t, "its end", func() bool { return len(srv.Keys(t)) == 0 })
	allowed(t, admin)
}

func TestAUserWithoutTheRightToTheRegistryIsToldOnceAndLocksAllTheSame(t *testing.T) {
	registered(t)
	srv := redistest.Process(t)
	admin := srv.Client(t)
	rules := documented(t, "resetkeys", "~app:*", "~{app:*", "~redisson_*", "~redlatch_l*", "~redlatch_moving*")
	require.NoError(t, admin.Do(t.Context(), rules...).Err())
	require.NoError(t, admin.ACLLogReset(t.Context()).Err())
	log := &lines{}
	client := srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
	hold := acquired(t, rlock.New(client, "app:lock", redlatch.WithLogger(slog.New(slog.NewTextHandler(log, nil)))))
	await(t, "the line", func() bool { return log.count("not reported to the registry until the program is started anew") == 1 })
	time.Sleep(1500 * time.Millisecond) // in which an armed reporter would send once more
	require.Equal(t, 1, log.count("\n"), "and no other script is narrowed")
	refused, err := admin.ACLLog(t.Context(), 10).Result()
	require.NoError(t, err)
	require.Len(t, slices.DeleteFunc(refused, func(e *redis.ACLLogEntry) bool { return e.Reason == "command" }), 1)
	require.NoError(t, hold.Unlock(t.Context()))
}

// lines are a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func TestAUserThatLooksNeedsNoRightToWrite(t *testing.T) {
	srv := redistest.Process(t)
	right := "%R~redlatch_client*"
	if !srv.Has(t, servers.ShardedChannels) { // with which rights to read alone came: before Redis 7.0
		right = "~redlatch_client*"
	}
	admin := srv.Client(t)
	uuid := "00000000-aaaa-8aaa-8aaa-aaaaaaaaaaaa"
	require.NoError(t, admin.ZAdd(t.Context(), registry.Index("", 0), redis.Z{Member: uuid, Score: 1}).Err())
	require.NoError(t, admin.HSet(t.Context(), registry.Entry("", uuid), "seen", 1).Err())
	require.NoError(t, admin.Do(t.Context(), "acl", "setuser", "viewer", "reset", "on", ">secret",
		right, "+zscan", "+hgetall", "+hscan", "+hmget").Err())
	viewer := srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "viewer", "secret" })
	members, _, err := viewer.ZScan(t.Context(), registry.Index("", 0), 0, "", 10).Result()
	require.NoError(t, err)
	require.Equal(t, uuid, members[0])
	require.NoError(t, viewer.HGetAll(t.Context(), registry.Entry("", uuid)).Err())
	require.NoError(t, viewer.HMGet(t.Context(), registry.Entry("", uuid), "seen").Err())
	require.NoError(t, viewer.HScan(t.Context(), registry.Entry("", uuid), 0, "", 10).Err())
	require.ErrorContains(t, viewer.Del(t.Context(), registry.Entry("", uuid)).Err(), "NOPERM")
}
