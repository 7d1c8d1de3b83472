package suite_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/semaphore"
)

// rightsOfScripts are the commands that scripts call, as their sources have them.
func rightsOfScripts(t *testing.T) (rights []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS("../../scripts"), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		source, err := os.ReadFile(filepath.Join("../../scripts", path))
		for _, call := range called.FindAllStringSubmatch(string(source), -1) {
			rights = append(rights, call[1])
		}
		return err
	}))
	rights = append(rights, "publish") // which is an argument
	slices.Sort(rights)
	rights = slices.Compact(rights)
	require.Greater(t, len(rights), 30)
	return rights
}

// limited is a user without one right, under a name of its own. A user that uses a lane first has all rights for that time.
type limited struct {
	*redis.Client
	admin       *redis.Client
	user, right string
}

func without(t *testing.T, srv *redistest.Server, right string) *limited {
	l := &limited{admin: srv.Client(t), user: "without-" + strings.ReplaceAll(right, " ", "-"), right: right}
	l.may(t, true)
	l.Client = srv.Client(t, func(o *redis.Options) { o.Username, o.Password = l.user, "secret" })
	return l
}

// may gives the user the right, or takes it away.
func (l *limited) may(t *testing.T, all bool) {
	rules := []any{"acl", "setuser", l.user, "on", ">secret", "~*", "&*", "+@all"}
	if !all {
		rules = append(rules, "-"+l.right)
	}
	require.NoError(t, l.admin.Do(t.Context(), rules...).Err())
}

// A user without one right cuts a script short wherever the script first needs it. Whatever the right and the operation: it is done, and
// the call says so, or nothing is left of it.
func TestAUserWithoutOneRightLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	for _, right := range rightsOfScripts(t) {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			for kind := range allLocks(srv.Client(t), "") {
				t.Run(kind, func(t *testing.T) { t.Parallel(); cutsLock(t, srv, right, kind) })
			}
			for _, before := range []bool{false, true} {
				t.Run(fmt.Sprint("counters, used before: ", before), func(t *testing.T) { t.Parallel(); cutsCounters(t, srv, right, before) })
			}
		})
	}
}

// lasting are the keys about a name that have no TTL, but for those that have none by their format: tokens, guards, and what Redisson keeps of
// a fair lock's queue.
func lasting(t *testing.T, admin *redis.Client, name string) (keys []string) {
	for _, key := range admin.Keys(t.Context(), "*"+name+"*").Val() {
		format := strings.Contains(key, "token") || strings.HasPrefix(key, "redlatch_guard") || strings.HasPrefix(key, "redisson_lock_queue:") || strings.HasPrefix(key, "redisson_lock_timeout:")
		if admin.PTTL(t.Context(), key).Val() == -1 && !format {
			keys = append(keys, key)
		}
	}
	return keys
}

const settlesWithin = 20 * time.Second

func cutsLock(t *testing.T, srv *redistest.Server, right, kind string) {
	ctx, admin, user := t.Context(), srv.Client(t), without(t, srv, right+"-"+kind)
	user.right = right
	name := "~" + right + "-" + kind + ":"
	lock := allLocks(user, name, redlatch.WithReleaseTimeout(200*time.Millisecond))[kind]
	other := allLocks(admin, name)[kind]
	lease := redlatch.WithLease(time.Minute)
	free := func(what string) {
		t.Helper()
		require.Eventually(t, func() bool {
			hold, err := other.TryLock(ctx)
			return err == nil && hold.Unlock(ctx) == nil
		}, settlesWithin, 50*time.Millisecond, "%s without %s: it stays taken", what, right)
		require.Empty(t, lasting(t, admin, name), "%s without %s", what, right)
	}

	user.may(t, false)
	for what, take := range map[string]func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){
		"TryLock": lock.TryLock,
		"Lock": func(ctx context.Context, opts ...redlatch.Option) (*redlatch.Hold, error) {
			return lock.Lock(ctx, append(opts, redlatch.WithWait(50*time.Millisecond))...)
		},
	} {
		hold, err := take(ctx, lease)
		if err == nil {
			user.may(t, true)
			require.NoError(t, hold.Unlock(ctx), "%s without %s", what, right)
			user.may(t, false)
		} else {
			require.NotErrorIs(t, err, redlatch.ErrNotAcquired, "%s without %s", what, right)
		}
		free(what)
	}

	held, err := other.TryLock(ctx, lease) // the user is refused, and may stand in a queue
	require.NoError(t, err)
	if hold, err := lock.Lock(ctx, redlatch.WithWait(50*time.Millisecond)); err == nil { // it reads beside
		user.may(t, true)
		require.NoError(t, hold.Unlock(ctx))
		user.may(t, false)
	}
	require.NoError(t, held.Unlock(ctx))
	require.Empty(t, lasting(t, admin, name), "waiting without %s", right)
	user.may(t, true) // what a question took that came late could not be given back without HDEL, before its lease is over
	free("waiting")

	hold, err := lock.Lock(ctx, lease)
	require.NoError(t, err)
	user.may(t, false)
	again, err := lock.Lock(hold.Context(ctx), lease)
	user.may(t, true)
	if err == nil {
		require.NoError(t, again.Unlock(ctx))
	}
	require.Empty(t, lasting(t, admin, name), "a re-entry without %s", right)
	require.NoError(t, hold.Context(ctx).Err())
	user.may(t, false)
	err = hold.Unlock(ctx)
	require.Empty(t, lasting(t, admin, name), "Unlock without %s: %v", right, err)
	if err == nil {
		free("Unlock")
	} else {
		user.may(t, true) // the release goes on in the background
		free("Unlock, and then with it,")
	}

	for who, waits := range map[string]redlatch.Locker{"another process": other, "its own process": lock} {
		user.may(t, true)
		hold, err := lock.Lock(ctx, lease)
		require.NoError(t, err)
		next := make(chan error, 1)
		go func() {
			hold, err := waits.Lock(ctx, redlatch.WithPoll(200*time.Millisecond), lease)
			if err == nil {
				err = hold.Unlock(ctx)
			}
			next <- err
		}()
		time.Sleep(30 * time.Millisecond) // most likely it waits by then; if it comes later, that is right too
		user.may(t, false)
		err = hold.Unlock(ctx)
		require.Empty(t, lasting(t, admin, name), "Unlock without %s for %s: %v", right, who, err)
		user.may(t, true)
		select {
		case got := <-next:
			if waits == other {
				require.NoError(t, got, "Unlock without %s for %s: %v", right, who, err)
			}
		case <-time.After(settlesWithin):
			t.Errorf("Unlock without %s for %s: %v: nobody gets the lock", right, who, err)
		}
		free("handing on")
	}
}

func cutsCounters(t *testing.T, srv *redistest.Server, right string, before bool) {
	ctx, admin, user := t.Context(), srv.Client(t), without(t, srv, fmt.Sprint(right, "-", before))
	user.right = right
	name := fmt.Sprint("~", right, "-counters-", before, ":")
	opts := []redlatch.Option{redlatch.WithReleaseTimeout(200 * time.Millisecond), redlatch.WithOutage(200 * time.Millisecond)}
	// judge does an operation without the right, and reads until the number is what it was, or, where the call says that it was
	// done, what it has to be. A call that cannot say which leaves one of the two, for good.
	judge := func(what string, do func() error, done int64, read func(context.Context) (int64, error)) bool {
		t.Helper()
		was, err := read(ctx)
		require.NoError(t, err)
		user.may(t, false)
		err = do()
		user.may(t, true)
		want, either := was, false
		if err == nil || strings.Contains(err.Error(), "goes on in the background") { // now that it may
			want = was + done
		} else if strings.Contains(err.Error(), "it is settled in the background") {
			either = true
		}
		var got int64
		settled := func() bool { var err error; got, err = read(ctx); return err == nil && got == want }
		deadline := time.Now().Add(settlesWithin)
		for !settled() && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
		if either && got == was+done {
			return true
		}
		require.Equal(t, want, got, "%s without %s: was %d; %v", what, right, was, err)
		for _, key := range lasting(t, admin, name) {
			require.NotContains(t, key, "redlatch_", "%s without %s", what, right) // of what is the library's own
		}
		return err == nil
	}

	pool, seen := semaphore.New(user, name+"pool", opts...), semaphore.New(admin, name+"pool")
	made := semaphore.New(user, name+"made", opts...)
	judge("Release of one that is not there", func() error { return made.Release(ctx, 3) }, 3, semaphore.New(admin, name+"made").AvailablePermits)
	judge("TrySetPermits", func() error { _, err := pool.TrySetPermits(ctx, 5); return err }, 5, seen.AvailablePermits)
	_, err := seen.TrySetPermits(ctx, 5)
	require.NoError(t, err)
	if before {
		require.NoError(t, pool.TryAcquire(ctx, 1))
		require.NoError(t, pool.Release(ctx, 1))
	}
	if judge("TryAcquire", func() error { return pool.TryAcquire(ctx, 2) }, -2, seen.AvailablePermits) {
		require.NoError(t, pool.Release(ctx, 2))
	}
	judge("Acquire", func() error { return pool.Acquire(ctx, 2, redlatch.WithWait(time.Second)) }, -2, seen.AvailablePermits)
	judge("Release", func() error { return pool.Release(ctx, 1) }, 1, seen.AvailablePermits)
	judge("ReleaseIfExists", func() error { _, err := pool.ReleaseIfExists(ctx, 1); return err }, 1, seen.AvailablePermits)
	judge("AddPermits", func() error { _, err := pool.AddPermits(ctx, -1); return err }, -1, seen.AvailablePermits)
	have, err := seen.AvailablePermits(ctx)
	require.NoError(t, err)
	judge("DrainPermits", func() error { _, err := pool.DrainPermits(ctx); return err }, -have, seen.AvailablePermits)

	permits, known := permitsemaphore.New(user, name+"permits", opts...), permitsemaphore.New(admin, name+"permits")
	judge("TrySetPermits", func() error { _, err := permits.TrySetPermits(ctx, 5); return err }, 5, known.TotalPermits)
	_, err = known.TrySetPermits(ctx, 5)
	require.NoError(t, err)
	var permit *permitsemaphore.Permit
	take := func(n int64, opts ...redlatch.Option) func() error {
		return func() error { var err error; permit, err = permits.TryAcquire(ctx, n, opts...); return err }
	}
	for _, n := range []int64{1, 2} {
		if judge("TryAcquire", take(n), -n, known.AvailablePermits) {
			require.NoError(t, permit.Release(ctx))
		}
		total, err := known.TotalPermits(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 5, total)
		require.NoError(t, take(n)())
		err = nil
		judge("Release", func() error { return permit.Release(ctx) }, n, func(ctx context.Context) (int64, error) {
			total, err := known.TotalPermits(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 5, total)
			return known.AvailablePermits(ctx)
		})
	}
	judge("AddPermits", func() error { _, err := permits.AddPermits(ctx, 1); return err }, 1, known.TotalPermits)
	total, err := known.TotalPermits(ctx)
	require.NoError(t, err)
	judge("SetPermits", func() error { return permits.SetPermits(ctx, total+3) }, 3, known.TotalPermits)

	// What is set up, and no more, is as if it were still missing: it counts with all its permits then.
	sized := func(what string) (mine, seen *semaphore.Semaphore) {
		five := semaphore.WithPermits(5)
		return semaphore.New(user, name+what, append(opts, five)...), semaphore.New(admin, name+what, five)
	}
	pool, seen = sized("acquired")
	judge("TryAcquire of what is missing", func() error { return pool.TryAcquire(ctx, 2) }, -2, seen.AvailablePermits)
	pool, seen = sized("added")
	judge("AddPermits to what is missing", func() error { _, err := pool.AddPermits(ctx, 1); return err }, 1, seen.AvailablePermits)
	pool, seen = sized("drained")
	judge("DrainPermits of what is missing", func() error { _, err := pool.DrainPermits(ctx); return err }, -5, seen.AvailablePermits)
	for _, n := range []int64{1, 2} {
		five, what := permitsemaphore.WithPermits(5), fmt.Sprint(name, "acquired ", n)
		permits, known = permitsemaphore.New(user, what, append(opts, five)...), permitsemaphore.New(admin, what, five)
		judge("TryAcquire of what is missing", take(n), -n, known.AvailablePermits)
	}

	latch, open := countdownlatch.New(user, name+"latch", opts...), countdownlatch.New(admin, name+"latch")
	judge("TrySetCount", func() error { _, err := latch.TrySetCount(ctx, 3); return err }, 3, open.Count)
	// Each has a latch of its own: what the one before left in doubt may be settled while the next one is judged.
	of := func(what string, n int64) {
		latch, open = countdownlatch.New(user, name+what, opts...), countdownlatch.New(admin, name+what)
		_, err := open.TrySetCount(ctx, n+1)
		require.NoError(t, err)
		by := open
		if before {
			by = latch
		}
		require.NoError(t, by.CountDown(ctx))
	}
	of("counted", 2)
	judge("CountDown", func() error { return latch.CountDown(ctx) }, -1, open.Count)
	of("last", 1)
	judge("the last CountDown", func() error { return latch.CountDown(ctx) }, -1, open.Count)
	of("gone", 2)
	judge("Delete", func() error { _, err := latch.Delete(ctx); return err }, -2, open.Count)

	guard, key := fencedlock.NewGuard(user, name+"guarded", opts...), "{"+name+"guarded}:n"
	require.NoError(t, admin.Set(ctx, key, 7, 0).Err())
	if before {
		require.NoError(t, guard.For(token(1)).Claim(ctx))
	}
	if right != "incrby" {
		judge("a guarded command", func() error { return guard.For(token(2)).Do(ctx, "INCRBY", key, 5) }, 5,
			func(ctx context.Context) (int64, error) { return admin.Get(ctx, key).Int64() })
	}
}
