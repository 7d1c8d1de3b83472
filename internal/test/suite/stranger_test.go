package suite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// allLocks are all locks of a client, under names that begin with one.
func allLocks(client redis.UniversalClient, name string, opts ...redlatch.Option) map[string]redlatch.Locker {
	rw := rwlock.New(client, name+"rw", opts...)
	return map[string]redlatch.Locker{
		"rlock": rlock.New(client, name+"plain", opts...), "fairlock": fairlock.New(client, name+"fair", opts...),
		"spinlock": spinlock.New(client, name+"spin", opts...), "fencedlock": fencedlock.New(client, name+"fenced", opts...),
		"reader": rw.Reader(), "writer": rw.Writer(),
		"preferred writer": rwlock.New(client, name+"preferred", append(opts, rwlock.WithWriterPreference())...).Writer(),
		"group":            multilock.NewGroup(client, name+"group", []string{"1", "2"}, opts...),
		"multilock":        multilock.New([]redlatch.Locker{rlock.New(client, name+"one", opts...), rlock.New(client, name+"two", opts...)}, opts...),
		"redlock":          redlock.New([]redlatch.Client{client}, name+"red", opts...),
	}
}

// A proxy between the program and Redis answers in its own words for a command of which it has lost the reply. That command was
// executed, so nobody may take it for one that was not.
func TestTheWordsOfAProxyLeaveNothingTakenAndNothingTwice(t *testing.T) {
	t.Parallel()
	srv := redistest.Process(t)
	direct := srv.Client(t)
	for i, words := range []string{"upstream failure", "ERR Operation timed out", "NOREPLY from the server behind"} {
		t.Run(words, func(t *testing.T) {
			for _, times := range []int{1, 3} {
				name := fmt.Sprintf("%d:%d:", i, times)
				for kind := range allLocks(direct, name) {
					t.Run(fmt.Sprint(kind, times), func(t *testing.T) {
						t.Parallel()
						speaksForLock(t, srv, words, times, name+kind, kind)
					})
				}
				t.Run(fmt.Sprint("counters", times), func(t *testing.T) {
					t.Parallel()
					speaksForCounters(t, srv, words, times, name)
				})
			}
		})
	}
}

// garbled makes a client, and has the replies to its next scripts replaced when it is told to.
func garbled(t *testing.T, srv *redistest.Server, words string, times int) (*redis.Client, func() *faultproxy.Rule) {
	p := faultproxy.New(t, srv.Addr)
	client := redis.NewClient(&redis.Options{Addr: p.Addr(), DialerRetries: 1})
	t.Cleanup(func() { _ = client.Close() })
	return client, func() *faultproxy.Rule {
		return p.On(faultproxy.Named("EVAL", "EVALSHA"), times, faultproxy.Replace(words))
	}
}

func speaksForLock(t *testing.T, srv *redistest.Server, words string, times int, name, kind string) {
	ctx, direct := t.Context(), srv.Client(t)
	client, garble := garbled(t, srv, words, times)
	lock := allLocks(client, name, redlatch.WithWatchdogTimeout(3*time.Second), redlatch.WithOutage(10*time.Second))[kind]
	other := allLocks(direct, name)[kind]
	free := func(what string) {
		t.Helper()
		require.Eventually(t, func() bool {
			hold, err := other.TryLock(ctx)
			if err != nil {
				require.ErrorIs(t, err, redlatch.ErrNotAcquired)
				return false
			}
			return hold.Unlock(ctx) == nil
		}, 20*time.Second, 20*time.Millisecond, "%s: it stays taken", what)
	}
	for what, take := range map[string]func(context.Context, ...redlatch.Option) (*redlatch.Hold, error){"TryLock": lock.TryLock, "Lock": lock.Lock} {
		garble()
		hold, err := take(ctx, redlatch.WithLease(time.Hour)) // which does not run out behind the back of the test
		if err == nil {
			err = hold.Unlock(ctx)
		} else {
			require.ErrorIs(t, err, redlatch.ErrUnavailable, what)
		}
		if err != nil {
			require.ErrorContains(t, err, words, what)
		}
		free(what)
	}
	hold, err := lock.Lock(ctx)
	require.NoError(t, err)
	garble()
	if err := hold.Unlock(ctx); err != nil {
		require.ErrorIs(t, err, redlatch.ErrUncertain)
	}
	free("Unlock")

	hold, err = lock.Lock(ctx)
	require.NoError(t, err)
	rule := garble()
	require.Eventually(t, func() bool { return rule.Executed() == times }, 20*time.Second, 20*time.Millisecond, "renewals")
	require.NoError(t, hold.Context(ctx).Err(), "a renewal that was executed is no loss")
	require.NoError(t, hold.Unlock(ctx))
	free("renewal")
}

func speaksForCounters(t *testing.T, srv *redistest.Server, words string, times int, name string) {
	ctx, direct := t.Context(), srv.Client(t)
	client, garble := garbled(t, srv, words, times)
	outage := redlatch.WithOutage(10 * time.Second)
	settles := func(what string, want int64, read func(context.Context) (int64, error)) {
		t.Helper()
		require.Eventually(t, func() bool { got, err := read(ctx); require.NoError(t, err); return got == want }, 20*time.Second, 20*time.Millisecond, what)
	}
	uncertain := func(err error) {
		t.Helper()
		if err != nil {
			require.ErrorIs(t, err, redlatch.ErrUncertain)
			require.ErrorContains(t, err, words)
		}
	}

	pool, seen := semaphore.New(client, name+"pool", outage), semaphore.New(direct, name+"pool")
	yes(t, call(seen.TrySetPermits(ctx, 5)))
	for what, take := range map[string]func() error{
		"TryAcquire": func() error { return pool.TryAcquire(ctx, 2) }, "Acquire": func() error { return pool.Acquire(ctx, 2) },
	} {
		garble()
		if err := take(); err == nil {
			settles(what, 3, seen.AvailablePermits)
			require.NoError(t, seen.Release(ctx, 2))
		} else {
			require.ErrorIs(t, err, redlatch.ErrUnavailable)
		}
		settles(what, 5, seen.AvailablePermits)
	}
	garble()
	uncertain(pool.Release(ctx, 1))
	settles("Release", 6, seen.AvailablePermits)
	garble()
	_, err := pool.AddPermits(ctx, 4)
	uncertain(err)
	settles("AddPermits", 10, seen.AvailablePermits)
	garble()
	_, err = pool.DrainPermits(ctx)
	uncertain(err)
	settles("DrainPermits", 0, seen.AvailablePermits)

	permits, known := permitsemaphore.New(client, name+"permits", outage), permitsemaphore.New(direct, name+"permits")
	yes(t, call(known.TrySetPermits(ctx, 5)))
	for what, take := range map[string]func() (*permitsemaphore.Permit, error){
		"TryAcquire": func() (*permitsemaphore.Permit, error) { return permits.TryAcquire(ctx, 2) },
		"Acquire":    func() (*permitsemaphore.Permit, error) { return permits.Acquire(ctx, 1) },
	} {
		garble()
		permit, err := take()
		if err == nil {
			garble()
			err = permit.Release(ctx)
		}
		if err != nil {
			require.True(t, errors.Is(err, redlatch.ErrUnavailable) || errors.Is(err, redlatch.ErrUncertain), "%v", err)
		}
		settles(what, 5, known.AvailablePermits)
		settles(what, 5, known.TotalPermits)
	}
	garble()
	uncertain(permits.SetPermits(ctx, 7))
	settles("SetPermits", 7, known.TotalPermits)

	latch, open := countdownlatch.New(client, name+"latch", outage), countdownlatch.New(direct, name+"latch")
	garble()
	_, err = latch.TrySetCount(ctx, 3)
	uncertain(err)
	settles("TrySetCount", 3, open.Count)
	garble()
	uncertain(latch.CountDown(ctx))
	settles("CountDown", 2, open.Count)

	guard := fencedlock.NewGuard(client, name+"guarded")
	garble()
	uncertain(guard.For(token(1)).Do(ctx, "INCRBY", "{"+name+"guarded}:n", 5))
	settles("a guarded command", 5, func(ctx context.Context) (int64, error) { return direct.Get(ctx, "{"+name+"guarded}:n").Int64() })
}
