package suite_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// documented is the ACL SETUSER command of docs/operating.md, and more.
func documented(t *testing.T, more ...string) []any {
	t.Helper()
	page, err := os.ReadFile("../../../docs/operating.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## ACL")
	require.True(t, found)
	_, block, found := strings.Cut(section, "```\nACL SETUSER app ")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	rules := []any{"acl", "setuser", "app", "reset"}
	for _, word := range append(strings.Fields(block), more...) {
		rules = append(rules, word)
	}
	return rules
}

// A user with the documented rights can do everything, and nothing is tried for which a right is missing.
func TestTheDocumentedRightsAreEnough(t *testing.T) {
	t.Parallel()
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		srv := redistest.Process(t)
		admin := srv.Client(t)
		require.NoError(t, admin.Do(t.Context(), documented(t)...).Err())
		require.NoError(t, admin.ACLLogReset(t.Context()).Err())
		useAll(t, func() redlatch.Client {
			return srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
		})
		allowed(t, admin)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := redistest.Cluster(t, 3, 0)
		for i := range cluster.Len() {
			admin := cluster.Node(i).Client(t)
			more := []string{"+cluster", "+command"}
			if cluster.Node(i).Has(t, servers.ShardedChannels) {
				more = append(more, "+ssubscribe", "+sunsubscribe", "+spublish")
			}
			rules := documented(t, more...)
			require.NoError(t, admin.Do(t.Context(), rules...).Err())
			require.NoError(t, admin.ACLLogReset(t.Context()).Err())
		}
		useAll(t, func() redlatch.Client {
			return cluster.Client(t, func(o *redis.ClusterOptions) { o.Username, o.Password = "app", "secret" })
		})
		for i := range cluster.Len() {
			allowed(t, cluster.Node(i).Client(t))
		}
	})
}

// The key that is never there is declared for the sake of slots that move. A user without the right to it does without.
func TestAUserWithoutTheRightToTheKeyThatIsNeverThereLosesNoLock(t *testing.T) {
	t.Parallel()
	srv := redistest.Watched(t)
	admin := srv.Client(t)
	rules := documented(t, "resetkeys", "~app:*", "~{app:*", "~redisson_*", "~redlatch_l*", "~redlatch_rwlock_*", "~redlatch_semaphore_*", "~redlatch_guard*")
	require.NoError(t, admin.Do(t.Context(), rules...).Err())
	useAll(t, func() redlatch.Client {
		return srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "app", "secret" })
	})
}

var called = regexp.MustCompile(`(?:call|try|write|change)\((?:(?:true|false), )?(?:'\d', |\w+, )?'([a-z]+)'`)

// Some commands of scripts are not met in a test of everything: those for what a dead process has left, say.
func TestEveryCommandOfAScriptIsAmongTheDocumentedRights(t *testing.T) {
	rights := documented(t)
	found := 0
	require.NoError(t, fs.WalkDir(os.DirFS("../../scripts"), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		source, err := os.ReadFile(filepath.Join("../../scripts", path))
		for _, call := range called.FindAllStringSubmatch(string(source), -1) {
			require.Contains(t, rights, "+"+call[1], path)
			found++
		}
		return err
	}))
	require.Greater(t, found, 100)
}

// allowed looks at what the server refused. What the client library tells or asks of its own accord is not ours.
func allowed(t *testing.T, admin *redis.Client) {
	t.Helper()
	log, err := admin.ACLLog(t.Context(), 100).Result()
	require.NoError(t, err)
	for _, entry := range log {
		command, _, _ := strings.Cut(entry.Object, "|") // "client|setinfo", before 7.0 "client"
		if entry.Reason != "command" || command != "client" {
			t.Errorf("%s %s: %s", entry.Reason, entry.Object, entry.Context)
		}
	}
}

// useAll does with two clients what the primitives can do, waiting included.
func useAll(t *testing.T, client func() redlatch.Client) {
	ctx := t.Context()
	a, b := client(), client()
	lockers := func(client redlatch.Client) []redlatch.Locker {
		rw := rwlock.New(client, "app:rw", rwlock.WithWriterPreference())
		return []redlatch.Locker{
			rlock.New(client, "app:plain"), rlock.New(client, "{app:1}:braces"), fairlock.New(client, "app:fair"),
			spinlock.New(client, "app:spin"), fencedlock.New(client, "app:fenced"), rw.Reader(), rw.Writer(),
			multilock.NewGroup(client, "app:group", []string{"1", "2"}),
		}
	}
	const reader = 5 // lets others in
	others := lockers(b)
	for i, lock := range lockers(a) {
		hold, err := lock.Lock(ctx, redlatch.WithWatchdogTimeout(3*time.Second))
		require.NoError(t, err, lock.Name())
		again, err := lock.Lock(hold.Context(ctx))
		require.NoError(t, err, lock.Name())
		require.NoError(t, again.Extend(ctx, time.Minute), lock.Name())
		require.NoError(t, again.Unlock(ctx), lock.Name())
		if i != reader {
			_, err = others[i].TryLock(ctx)
			require.ErrorIs(t, err, redlatch.ErrNotAcquired, lock.Name())
			_, err = others[i].Lock(ctx, redlatch.WithWait(1500*time.Millisecond)) // a renewal falls into that
			require.ErrorIs(t, err, redlatch.ErrNotAcquired, lock.Name())
		}
		require.NoError(t, hold.Unlock(ctx), lock.Name())
		if i != reader {
			var c rivals
			c.work(t, lock, 3, 10)
			c.work(t, others[i], 3, 10)
			c.wg.Wait()
		}
		_, err = lock.(interface {
			ForceUnlock(context.Context) (bool, error)
		}).ForceUnlock(ctx)
		require.NoError(t, err, lock.Name())
	}
	rw := rwlock.New(a, "app:rw")
	writing, err := rw.Lock(ctx)
	require.NoError(t, err)
	reading, err := rw.RLock(writing.Context(ctx))
	require.NoError(t, err)
	require.NoError(t, writing.Unlock(ctx))
	_, err = rw.Inspect(ctx)
	require.NoError(t, err)
	require.NoError(t, reading.Unlock(ctx))

	fenced := fencedlock.New(a, "app:fenced")
	_, err = fenced.LastToken(ctx)
	require.NoError(t, err)
	guard := fencedlock.NewGuard(a, "app:fenced")
	require.NoError(t, guard.For(token(1)).Set(ctx, "{app:fenced}:data", "x"))
	require.NoError(t, guard.For(token(2)).Claim(ctx))
	_, err = guard.Greatest(ctx)
	require.NoError(t, err)

	pool := semaphore.New(a, "app:pool")
	yes(t, call(pool.TrySetPermits(ctx, 1, redlatch.WithTTL(time.Hour))))
	require.NoError(t, pool.Acquire(ctx, 1))
	next := make(chan error, 1)
	go func() { next <- semaphore.New(b, "app:pool").Acquire(ctx, 1) }()
	require.NoError(t, pool.Release(ctx, 1))
	require.NoError(t, <-next)
	yes(t, call(pool.ReleaseIfExists(ctx, 1)))
	_, err = pool.AddPermits(ctx, 1)
	require.NoError(t, err)
	_, err = pool.DrainPermits(ctx)
	require.NoError(t, err)
	_, err = pool.AvailablePermits(ctx)
	require.NoError(t, err)
	yes(t, call(pool.Persist(ctx)))
	yes(t, call(pool.Expire(ctx, time.Hour)))
	yes(t, call(pool.Delete(ctx)))

	permits := permitsemaphore.New(a, "app:permits", redlatch.WithWatchdogTimeout(3*time.Second))
	yes(t, call(permits.TrySetPermits(ctx, 2, redlatch.WithTTL(time.Hour))))
	permit, err := permits.Acquire(ctx, 2)
	require.NoError(t, err)
	_, err = permitsemaphore.New(b, "app:permits").Acquire(ctx, 1, redlatch.WithWait(1500*time.Millisecond))
	require.ErrorIs(t, err, redlatch.ErrNotAcquired)
	_, err = permits.LeaseTime(ctx, permit.IDs()[0])
	require.NoError(t, err)
	require.NoError(t, permit.UpdateLease(ctx, time.Minute))
	require.NoError(t, permits.Release(ctx, permit.IDs()[0]))
	require.NoError(t, permit.Release(ctx))
	_, err = permits.AddPermits(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, permits.SetPermits(ctx, 4))
	for _, number := range []func(context.Context) (int64, error){permits.TotalPermits, permits.AvailablePermits, permits.AcquiredPermits} {
		_, err = number(ctx)
		require.NoError(t, err)
	}
	yes(t, call(permits.Persist(ctx)))
	yes(t, call(permits.Expire(ctx, time.Hour)))
	yes(t, call(permits.Delete(ctx)))

	latch := countdownlatch.New(a, "app:latch")
	yes(t, call(latch.TrySetCount(ctx, 2, redlatch.WithTTL(time.Hour))))
	go func() { next <- countdownlatch.New(b, "app:latch").Await(ctx) }()
	require.NoError(t, latch.CountDown(ctx))
	_, err = latch.Count(ctx)
	require.NoError(t, err)
	require.NoError(t, latch.CountDown(ctx))
	require.NoError(t, <-next)
	yes(t, call(latch.TrySetCount(ctx, 1)))
	yes(t, call(latch.Delete(ctx)))
}

type answer struct {
	ok  bool
	err error
}

func call(ok bool, err error) answer { return answer{ok, err} }

func yes(t *testing.T, a answer) {
	t.Helper()
	require.NoError(t, a.err)
	require.True(t, a.ok)
}

// Nobody is woken then, but the lock is free, and its waiters poll.
func TestAUserWhoMayNotPublishFreesALockByForce(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	ctx, client, limited := t.Context(), srv.Client(t), srv.User(t, "-publish")
	type forceable interface {
		redlatch.Locker
		ForceUnlock(ctx context.Context) (bool, error)
	}
	poll := redlatch.WithPoll(100 * time.Millisecond)
	writer := func(c redlatch.Client) forceable { return rwlock.New(c, "rw", poll).Writer() }
	for kind, of := range map[string]func(redlatch.Client) forceable{
		"plain": func(c redlatch.Client) forceable { return rlock.New(c, "plain", poll) },
		"fair":  func(c redlatch.Client) forceable { return fairlock.New(c, "fair", poll) },
		"read":  func(c redlatch.Client) forceable { return rwlock.New(c, "rw").Reader() },
		"write": writer,
		"group": func(c redlatch.Client) forceable { return multilock.NewGroup(c, "group", []string{"a", "b"}, poll) },
	} {
		t.Run(kind, func(t *testing.T) {
			hold, err := of(client).Lock(ctx)
			require.NoError(t, err)
			waits := of(srv.Client(t))
			if kind == "read" {
				waits = writer(srv.Client(t))
			}
			next := make(chan error, 1)
			go func() {
				got, err := waits.Lock(ctx)
				if err == nil {
					err = got.Unlock(ctx)
				}
				next <- err
			}()
			if kind == "fair" { // whose message is for who stands in the queue
				require.Eventually(t, func() bool {
					info, err := fairlock.New(client, "fair").Inspect(ctx)
					return err == nil && len(info.Queue) > 0
				}, time.Minute, time.Millisecond)
			}
			yes(t, call(of(limited).ForceUnlock(ctx)))
			require.NoError(t, <-next)
			require.ErrorIs(t, hold.Unlock(ctx), redlatch.ErrLost)
		})
	}
}

// Unlock says that nobody was told, and does not ask again and again: the lock is free.
func TestAUserWhoMayNotPublishGivesALockBackAtOnce(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	ctx, client := t.Context(), srv.Client(t)
	for _, rule := range []string{"-publish", "resetchannels"} {
		limited := srv.User(t, rule)
		for _, lock := range []redlatch.Locker{
			rlock.New(limited, "plain"), fencedlock.New(limited, "fenced"), fairlock.New(limited, "fair"), spinlock.New(limited, "spin"),
			rwlock.New(limited, "rw").Writer(), rwlock.New(limited, "rw").Reader(), multilock.NewGroup(limited, "group", []string{"a", "b"}),
			multilock.New([]redlatch.Locker{rlock.New(limited, "one"), rlock.New(limited, "two")}),
		} {
			hold, err := lock.Lock(ctx, redlatch.WithReleaseTimeout(time.Minute))
			require.NoError(t, err, lock.Name())
			if err := hold.Unlock(ctx); err != nil {
				require.ErrorContains(t, err, "is released, but the server refused", lock.Name())
			}
			require.Zero(t, client.Exists(ctx, "plain", "fenced", "fair", "spin", "rw", "group", "one", "two").Val(), lock.Name())
		}
	}
}

// A token is one that came from elsewhere, without its owner.
type token int64

func (token) Name() string   { return "elsewhere" }
func (t token) Token() int64 { return int64(t) }
func (token) Owner() string  { return "" }
