package suite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// unhelped is a poll interval in which no test finds out what it was not told.
const unhelped = 5 * time.Minute

// rivals are a few clients, each as good as a process, with a few goroutines each that want one lock.
type rivals struct {
	inside atomic.Int32
	last   int64 // token; guarded by the lock, which the race detector checks
	done   atomic.Int64
	on     atomic.Bool // they go on until it is false
	wg     sync.WaitGroup
}

// work has goroutines take the lock and give it back, each so many times at least.
func (c *rivals) work(t *testing.T, lock redlatch.Locker, goroutines, times int) {
	for range goroutines {
		c.wg.Go(func() {
			for i := 0; i < times || c.on.Load(); i++ {
				hold, err := lock.Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if c.inside.Add(1) != 1 {
					t.Error("two are inside")
				}
				if token := hold.Token(); token > 0 && token <= c.last {
					t.Errorf("token %d after %d", token, c.last)
				}
				c.last = hold.Token()
				c.done.Add(1)
				c.inside.Add(-1)
				if err := hold.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// passes counts the messages that say to whom a lock was passed. The function returns their owners so far.
func passes(t *testing.T, rdb redis.UniversalClient, name string) (owners func() []string) {
	t.Helper()
	ear := rdb.PSubscribe(t.Context(), keys.LockRow(name)+":*")
	_, err := ear.ReceiveTimeout(t.Context(), 30*time.Second)
	require.NoError(t, err)
	var (
		mu    sync.Mutex
		heard []string
		done  = make(chan struct{})
	)
	go func() {
		defer close(done)
		for {
			message, err := ear.ReceiveMessage(context.Background())
			if err != nil {
				return
			}
			owner, _, _ := strings.Cut(message.Payload, " ")
			mu.Lock()
			heard = append(heard, owner)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = ear.Close()
		<-done
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, heard...)
	}
}

// Processes that want one lock pay little more for it than the goroutines of one of them.
func TestProcessesPassAHotKeyOn(t *testing.T) {
	srv := redistest.Process(t)
	for name, make := range map[string]func(rdb *redis.Client) redlatch.Locker{
		"rlock":      func(rdb *redis.Client) redlatch.Locker { return rlock.New(rdb, "rlock") },
		"fencedlock": func(rdb *redis.Client) redlatch.Locker { return fencedlock.New(rdb, "fencedlock") },
	} {
		t.Run(name, func(t *testing.T) {
			const processes, callers, each = 3, 4, 150
			passed := passes(t, srv.Client(t), name)
			before := srv.CommandStats(t)
			var c rivals
			c.on.Store(true)
			for range processes {
				c.work(t, make(srv.Client(t)), callers, each)
			}
			await(t, "passes", func() bool { return t.Failed() || len(passed()) >= 20 })
			c.on.Store(false)
			c.wg.Wait()
			after := srv.CommandStats(t)
			sections := float64(c.done.Load())
			require.GreaterOrEqual(t, c.done.Load(), int64(processes*callers*each))
			sent := after["evalsha"] + after["eval"] - before["evalsha"] - before["eval"]
			t.Logf("%.3f commands a section, %d passes", float64(sent)/sections, len(passed()))
			require.Less(t, float64(sent)/sections, 1.6)
			require.Greater(t, after["zpopmin"], before["zpopmin"])
		})
	}
}

// Who sits in no row has to wait until the lock is free for a moment, and has no advantage then. What goes on within a
// process while it waits is not counted: that the lock is released is what the stranger waits for.
func TestALockThatGoesRoundComesToAStranger(t *testing.T) {
	srv := redistest.Process(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 3 {
		lock := rlock.New(srv.Client(t), "hot")
		for range 2 {
			wg.Go(func() {
				for {
					hold, err := lock.Lock(ctx)
					if err != nil {
						return
					}
					_ = hold.Unlock(context.Background())
				}
			})
		}
	}
	passed := passes(t, srv.Client(t), "hot")
	stranger := rlock.New(srv.Client(t), "hot", redlatch.WithLease(time.Minute))
	scripts := func() int64 { stats := srv.CommandStats(t); return stats["evalsha"] + stats["eval"] }
	const times = 20
	before, most := scripts(), int64(0)
	for range times {
		begin := scripts()
		hold, err := stranger.Lock(t.Context(), redlatch.WithWait(time.Minute))
		require.NoError(t, err)
		most = max(most, scripts()-begin)
		require.NoError(t, hold.Unlock(t.Context()))
	}
	perWait := (scripts() - before) / times
	t.Logf("%d commands of the others while it waited, %d at most; %d passes in all", perWait, most, len(passed()))
	require.Less(t, perWait, int64(2000))
}

// seat waits until so many processes sit in the row of a lock.
func seats(t *testing.T, rdb redis.UniversalClient, name string, want int64) {
	t.Helper()
	await(t, fmt.Sprintf("%d in the row", want), func() bool { return rdb.ZCard(t.Context(), keys.LockRow(name)).Val() == want })
}

// deserted waits until no process but those hears of passes, and tells which sat.
func deserted(t *testing.T, rdb redis.UniversalClient, name, owner string) {
	t.Helper()
	session, _, _ := strings.Cut(owner, ":")
	channel := keys.LockRow(name) + ":" + session
	await(t, "the server notices", func() bool {
		counts, err := rdb.PubSubNumSub(t.Context(), channel).Result()
		return err == nil && counts[channel] == 0
	})
}

// first is who sits first in the row.
func first(t *testing.T, rdb redis.UniversalClient, name string) string {
	t.Helper()
	owners, err := rdb.ZRange(t.Context(), keys.LockRow(name), 0, 0).Result()
	require.NoError(t, err)
	require.Len(t, owners, 1)
	return owners[0]
}

func TestAWaiterWhoseClientIsClosedKeepsNobodyWaiting(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	hold, err := rlock.New(rdb, "lock").Lock(t.Context())
	require.NoError(t, err)
	closing := srv.Client(t)
	gone := make(chan error, 1)
	go func() {
		_, err := rlock.New(closing, "lock").Lock(t.Context())
		gone <- err
	}()
	seats(t, rdb, "lock", 1)
	owner := first(t, rdb, "lock")
	require.NoError(t, closing.Close())
	deserted(t, rdb, "lock", owner)
	afterADeadWaiter(t, srv, hold, owner)
	require.Error(t, <-gone)
}

func TestAProcessThatIsKilledWhileItWaitsKeepsNobodyWaiting(t *testing.T) {
	srv := redistest.Process(t)
	rdb := srv.Client(t)
	hold, err := rlock.New(rdb, "lock").Lock(t.Context())
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), waiterVariable+"="+srv.Addr)
	require.NoError(t, cmd.Start())
	var once sync.Once
	kill := func() {
		once.Do(func() {
			_ = cmd.Process.Kill() // fails only when it has ended
			_ = cmd.Wait()         // being killed is an error to Wait
		})
	}
	defer kill()
	seats(t, rdb, "lock", 1)
	owner := first(t, rdb, "lock")
	kill()
	deserted(t, rdb, "lock", owner)
	afterADeadWaiter(t, srv, hold, owner)
}

// afterADeadWaiter requires that a release is for the one who comes behind it.
func afterADeadWaiter(t *testing.T, srv *redistest.Server, hold *redlatch.Hold, dead string) {
	t.Helper()
	rdb := srv.Client(t)
	passed := passes(t, rdb, "lock")
	next := make(chan *redlatch.Hold, 1)
	go func() {
		hold, err := rlock.New(srv.Client(t), "lock").Lock(t.Context(), redlatch.WithPoll(unhelped))
		if err != nil {
			t.Error(err)
		}
		next <- hold
	}()
	await(t, "another sits behind it, or instead", func() bool {
		behind, err := rdb.ZRange(t.Context(), keys.LockRow("lock"), -1, -1).Result()
		return err == nil && len(behind) == 1 && behind[0] != dead
	})
	require.NoError(t, hold.Unlock(t.Context()))
	got := <-next
	require.NotNil(t, got)
	await(t, "the message", func() bool { return len(passed()) > 0 })
	require.Equal(t, []string{got.Owner()}, passed(), "the dead one was passed nothing")
	require.Zero(t, rdb.Exists(t.Context(), keys.LockRow("lock")).Val())
	require.NoError(t, got.Unlock(t.Context()))
}

const waiterVariable = "REDLATCH_PASS_WAITER" // address of the server

// waitToBeKilled is the other process of the test above.
func waitToBeKilled(addr string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	_, err := rlock.New(rdb, "lock").Lock(context.Background())
	fmt.Fprintln(os.Stderr, "it should have been killed before:", err)
	os.Exit(1)
}

// The rights of docs/operating.md as they were before there was a row. Whoever has given them has a lock without one.
var rights = strings.Fields(`~lock ~redlatch_lanes:{lock}:* resetchannels &redisson_lock__channel:{lock} -@all
	+eval +evalsha +subscribe +unsubscribe +ping +publish
	+pttl +pexpire +persist +exists +type +del +hget +hgetall +hset +hexists +hdel +hlen +get +set +incrby +decr +decrby`)

func TestAUserWithoutRightsToTheRowHasALockWithoutOne(t *testing.T) {
	srv := redistest.Process(t)
	admin := srv.Client(t)
	for what, more := range map[string][]string{
		"as documented":      nil,
		"all channels":       {"allchannels"}, // the default before Redis 7
		"all keys":           {"~*"},
		"channels and keys":  {"allchannels", "~*"},
		"all but the clock":  {"allchannels", "~*", "+@all", "-time"},
		"all but the row":    {"allchannels", "~*", "+@all", "-zadd"},
		"all but who hears":  {"allchannels", "~*", "+@all", "-pubsub"},
		"all but the scores": {"allchannels", "~*", "+@all", "-zscore"},
	} {
		t.Run(what, func(t *testing.T) {
			rules := []any{"acl", "setuser", "limited", "reset", "on", "nopass"}
			for _, rule := range append(append([]string{}, rights...), more...) {
				rules = append(rules, rule)
			}
			require.NoError(t, admin.Do(t.Context(), rules...).Err())
			limited := func() *redis.Client {
				return srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "limited", "x" })
			}
			hold, err := rlock.New(limited(), "lock").Lock(t.Context())
			require.NoError(t, err)
			next := make(chan error, 1)
			other := rlock.New(limited(), "lock", redlatch.WithPoll(unhelped), briefly.Linger(0))
			go func() {
				hold, err := other.Lock(t.Context())
				if err == nil {
					err = hold.Unlock(t.Context())
				}
				next <- err
			}()
			await(t, "it listens", func() bool {
				counts, err := admin.PubSubNumSub(t.Context(), keys.LockChannel("lock")).Result()
				return err == nil && counts[keys.LockChannel("lock")] > 0
			})
			require.NoError(t, hold.Unlock(t.Context()))
			select {
			case err := <-next:
				require.NoError(t, err)
			case <-time.After(time.Minute):
				t.Fatal("it was not woken")
			}

			var c rivals
			for range 2 {
				c.work(t, rlock.New(limited(), "lock"), 3, 20)
			}
			c.wg.Wait()
			require.EqualValues(t, 2*3*20, c.done.Load())
			require.Zero(t, admin.Exists(t.Context(), "lock").Val())
			require.NoError(t, admin.Del(t.Context(), "redlatch_lock_row:{lock}", "redlatch_lock_alive:{lock}").Err())
		})
	}
}
