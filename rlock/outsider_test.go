package rlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/rlock"
)

// An outsider waits as Redisson does: it stands in no row, listens for releases, and asks some time after it heard one.
type outsider struct {
	client   *redis.Client
	reaction time.Duration
}

const (
	outsidersField   = "b983c153-7421-469a-addb-44fb92259a1b:42"
	outsidersChannel = "redisson_lock__channel:{lock}"
)

// turn acquires the lock, holds it for a section, and answers how long it had to wait.
func (o outsider) turn(t *testing.T, section time.Duration) time.Duration {
	ctx, began := t.Context(), time.Now()
	if !o.ask(t) {
		messages := o.client.Subscribe(ctx, outsidersChannel)
		_, err := messages.Receive(ctx)
		require.NoError(t, err)
		heard := messages.Channel()
		for !o.ask(t) {
			<-heard
			time.Sleep(o.reaction)
			for len(heard) > 0 { // the question comes after all of them
				<-heard
			}
		}
		require.NoError(t, messages.Close())
	}
	waited := time.Since(began)
	time.Sleep(section)
	require.NoError(t, o.client.Del(ctx, "lock").Err())
	require.NoError(t, o.client.Publish(ctx, outsidersChannel, "0").Err())
	return waited
}

// ask takes the lock if its hash is not there.
func (o outsider) ask(t *testing.T) bool {
	const script = `return redis.call('exists', KEYS[1]) == 0 and redis.call('hset', KEYS[1], ARGV[1], '1') or 0`
	held, err := o.client.Eval(t.Context(), script, []string{"lock"}, outsidersField).Int()
	require.NoError(t, err)
	return held == 1
}

// What guarantees.md promises under "other processes get their turn": the bound for a waiter that stands in no row.
func TestAnOutsiderHasItsTurnInTime(t *testing.T) {
	const (
		section = time.Millisecond
		shut    = (25 + 10) * time.Millisecond // before it is left to outsiders: that long, and until a streak ends
		open    = 4 * time.Millisecond         // for so long, and every eighth time for eight times as long
		round   = shut + 2*section
	)
	for _, processes := range []int{1, 4} {
		for reaction, bound := range map[time.Duration]time.Duration{
			time.Millisecond:      round + open,
			6 * time.Millisecond:  8*round + 15*open,
			20 * time.Millisecond: 8*round + 15*open,
		} {
			t.Run(fmt.Sprintf("%d processes, %v", processes, reaction), func(t *testing.T) {
				redistest.Bubble(t, func(t *testing.T) {
					m, client := redistest.InMemory(t)
					ctx, stop := context.WithCancel(t.Context())
					var all sync.WaitGroup
					for range processes {
						busy := redis.NewClient(redistest.InMemoryOptions(m))
						t.Cleanup(func() { _ = busy.Close() })
						lock := rlock.New(busy, "lock", redlatch.WithLogger(nil))
						for range 4 {
							all.Go(func() {
								for ctx.Err() == nil {
									_ = lock.Do(ctx, func(context.Context) error { time.Sleep(section); return nil })
								}
							})
						}
					}
					time.Sleep(time.Second)
					o := outsider{client, reaction}
					var longest time.Duration
					for range 20 {
						longest = max(longest, o.turn(t, section))
						time.Sleep(7 * time.Millisecond)
					}
					require.LessOrEqual(t, longest, bound)
					t.Logf("waited for %v at most", longest)
					stop()
					all.Wait()
					time.Sleep(time.Minute) // workers go
				})
			})
		}
	}
}

// A TryLock of the process that leaves the lock to outsiders does not take it from them.
func TestATryLeavesALockToOutsidersToo(t *testing.T) {
	redistest.Bubble(t, func(t *testing.T) {
		m, client := redistest.InMemory(t)
		messages := client.Subscribe(t.Context(), outsidersChannel)
		t.Cleanup(func() { _ = messages.Close() })
		_, err := messages.Receive(t.Context())
		require.NoError(t, err)
		busy := redis.NewClient(redistest.InMemoryOptions(m))
		t.Cleanup(func() { _ = busy.Close() })
		lock := rlock.New(busy, "lock", redlatch.WithLogger(nil))
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					_ = lock.Do(ctx, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
				}
			})
		}
		for !m.Exists("redlatch_lock_open:{lock}") {
			_, err := messages.ReceiveMessage(t.Context())
			require.NoError(t, err)
		}
		stop() // the waiters leave
		synctest.Wait()
		_, err = lock.TryLock(t.Context())
		require.ErrorIs(t, err, redlatch.ErrNotAcquired)
		require.ErrorContains(t, err, "is left to other processes for a moment")
		time.Sleep(4 * time.Millisecond)
		require.NoError(t, take(t, lock, t.Context()).Unlock(t.Context()))
		all.Wait()
		time.Sleep(time.Minute) // workers go
	})
}
