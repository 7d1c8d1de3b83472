package multilock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

// An outsider waits as Redisson does: it stands in no process queue, listens for releases, and asks some time
// after it heard one. It takes its locks one after another.
type outsider struct {
	server   *miniredis.Miniredis
	client   *redis.Client
	reaction time.Duration
}

const outsidersField = "b983c153-7421-469a-addb-44fb92259a1b:42"

// turn acquires the locks, holds them for a section, and answers how long it had to wait.
func (o outsider) turn(t *testing.T, section time.Duration, names ...string) time.Duration {
	began := time.Now()
	for _, name := range names {
		o.wait(t, name)
	}
	waited := time.Since(began)
	time.Sleep(section)
	for _, name := range names {
		require.NoError(t, o.client.Del(t.Context(), name).Err())
		require.NoError(t, o.client.Publish(t.Context(), channelOf(name), "0").Err())
	}
	return waited
}

func channelOf(name string) string { return "redisson_lock__channel:{" + name + "}" }

func (o outsider) wait(t *testing.T, name string) {
	if o.ask(t, name) {
		return
	}
	messages := o.client.Subscribe(t.Context(), channelOf(name))
	_, err := messages.Receive(t.Context())
	require.NoError(t, err)
	heard := messages.Channel()
	for began := time.Now(); !o.ask(t, name); {
		require.Less(t, time.Since(began), 10*time.Second)
		<-heard
		time.Sleep(o.reaction)
		for len(heard) > 0 { // the question comes after all of them
			<-heard
		}
	}
	require.NoError(t, messages.Close())
}

// ask takes the lock if its hash is not there.
func (o outsider) ask(t *testing.T, name string) bool {
	const script = `return redis.call('exists', KEYS[1]) == 0 and redis.call('hset', KEYS[1], ARGV[1], '1') or 0`
	held, err := o.client.Eval(t.Context(), script, []string{name}, outsidersField).Int()
	require.NoError(t, err)
	return held == 1
}

// An outsider that waits for one of the members, or for all, has its turn as one that waits for a single lock
// has.
func TestAnOutsiderHasItsTurnOfAMultiLockInTime(t *testing.T) {
	const (
		section = time.Millisecond
		round   = (60+10+4)*time.Millisecond + 2*section // until the members are left to outsiders, and for how long
	)
	for _, names := range [][]string{{"a"}, {"c"}, {"a", "b", "c"}} {
		for _, processes := range []int{1, 4} {
			for reaction, bound := range map[time.Duration]time.Duration{time.Millisecond: round, 20 * time.Millisecond: 8*round + 32*time.Millisecond} {
				t.Run(fmt.Sprintf("%v, %d processes, %v", names, processes, reaction), func(t *testing.T) {
					besideACrowd(t, processes, section, func(t *testing.T, o outsider) {
						o.reaction = reaction
						var longest time.Duration
						for range 12 {
							longest = max(longest, o.turn(t, section, names...))
							time.Sleep(7 * time.Millisecond)
						}
						require.LessOrEqual(t, longest, bound)
						t.Logf("waited for %v at most", longest)
					})
				})
			}
		}
	}
}

// A newcomer of another process that asks for all members at once does not come into the time of outsiders,
// once its call waits.
func TestWhatIsLeftToOutsidersIsNotTakenByACallThatWaits(t *testing.T) {
	besideACrowd(t, 0, 0, func(t *testing.T, o outsider) {
		ctx := t.Context()
		hold, err := o.lock(t).Lock(ctx)
		require.NoError(t, err)
		waiting := make(chan error, 1)
		go func() {
			second, err := o.lock(t).Lock(ctx)
			if err == nil {
				err = second.Unlock(ctx)
			}
			waiting <- err
		}()
		synctest.Wait()
		require.NoError(t, o.client.Set(ctx, "redlatch_lock_open:{c}", "40 whoever x", 40*time.Millisecond).Err())
		require.NoError(t, hold.Unlock(ctx))
		began := time.Now()
		require.NoError(t, <-waiting)
		require.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond)
	})
}

// lock is the multi-lock of a process of its own.
func (o outsider) lock(t *testing.T) *multilock.Lock {
	client := redis.NewClient(redistest.InMemoryOptions(o.server))
	t.Cleanup(func() { _ = client.Close() })
	var members []redlatch.Locker
	for _, name := range []string{"a", "b", "c"} {
		members = append(members, rlock.New(client, name, redlatch.WithLogger(nil)))
	}
	return multilock.New(members)
}

// besideACrowd runs a test beside so many processes of four callers that never pause.
func besideACrowd(t *testing.T, processes int, section time.Duration, run func(*testing.T, outsider)) {
	redistest.Bubble(t, func(t *testing.T) {
		server, client := redistest.InMemory(t)
		o := outsider{server: server, client: client}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range processes {
			lock := o.lock(t)
			for range 4 {
				all.Go(func() {
					for ctx.Err() == nil {
						_ = lock.Do(ctx, func(context.Context) error { time.Sleep(section); return nil })
					}
				})
			}
		}
		time.Sleep(time.Second)
		run(t, o)
		stop()
		all.Wait()
		time.Sleep(time.Minute) // workers go
	})
}
