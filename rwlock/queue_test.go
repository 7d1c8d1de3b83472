package rwlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A distance is the time that a command and its answer take, up to a millisecond each. An answer that comes after the end of its
// context is lost.
type distance struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (d *distance) below(most time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rand.Int64N(int64(most)))
}

func (d *distance) away(ctx context.Context, send func() error) error {
	time.Sleep(d.below(time.Millisecond))
	err := send()
	time.Sleep(d.below(time.Millisecond))
	if err == nil {
		err = ctx.Err()
	}
	return err
}

func (d *distance) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *distance) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return d.away(ctx, func() error { return next(ctx, cmd) })
	}
}

func (d *distance) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return d.away(ctx, func() error { return next(ctx, cmds) })
	}
}

// Messages are not lost here, so no process has to poll: whoever leaves, gives up or is told in vain, one process knows when the lock can
// be had. A wait that needed a poll would last an hour.
func TestNobodyNeedsAPollWhereNoMessageIsLost(t *testing.T) {
	const processes, goroutines, turns = 5, 3, 30
	for seed := range uint64(6) {
		fakeTime(t, func(k *kit) {
			d := &distance{rand: rand.New(rand.NewPCG(seed, 0))}
			var all sync.WaitGroup
			for p := range processes {
				client := redis.NewClient(redistest.InMemoryOptions(k.mini))
				k.Cleanup(func() { _ = client.Close() })
				client.AddHook(d)
				opts := []redlatch.Option{redlatch.WithPoll(time.Hour)}
				if p%2 == 0 {
					opts = append(opts, briefly.Linger(time.Second))
				}
				lock := k.over(client, opts...)
				for range goroutines {
					all.Go(func() {
						for range turns {
							k.turn(d, lock.RLock, lock.Lock)
						}
					})
				}
			}
			all.Wait()
			time.Sleep(5 * time.Minute) // what is in doubt is settled
			require.Empty(k, k.fields(), "seed %d", seed)
		})
	}
}

// turn is one acquisition of a random side, which some give up before or after it is answered.
func (k *kit) turn(d *distance, read, write lockFunc) {
	time.Sleep(d.below(3 * time.Millisecond))
	take, ctx := write, k.ctx
	if d.below(3) > 0 {
		take = read
	}
	if d.below(3) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.below(15*time.Millisecond))
		defer cancel()
	}
	came := time.Now()
	hold, err := take(ctx)
	if waited := time.Since(came); waited > time.Minute {
		k.Errorf("waited for %v", waited)
	}
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			k.Error(err)
		}
		return
	}
	time.Sleep(d.below(3 * time.Millisecond))
	_ = hold.Unlock(k.ctx)
}

// The question of a process that was told comes a message later than that of the process that has just released could.
func TestWhoReleasesLeavesTheLockToTheProcessThatItTells(t *testing.T) {
	fakeTime(t, func(k *kit) {
		client, slowly := redis.NewClient(redistest.InMemoryOptions(k.mini)), slow{by: 500 * time.Microsecond}
		k.Cleanup(func() { _ = client.Close() })
		client.AddHook(&slowly)
		lock, other := k.process(redlatch.WithPoll(time.Hour)), k.over(client, redlatch.WithPoll(time.Hour))
		for _, ask := range []lockFunc{lock.Lock, lock.RLock} {
			hold := k.take(lock.Lock, k.ctx)
			slowly.on.Store(false)
			waits := k.asks(other.Lock, k.ctx)
			time.Sleep(10 * time.Millisecond) // its process may leave the lock to the other one for a moment, too
			k.waits(waits)
			slowly.on.Store(true)
			k.give(hold)
			again := k.asks(ask, k.ctx)
			select {
			case told := <-waits:
				k.waits(again)
				k.give(told.hold)
			case early := <-again:
				k.give(early.hold)
				k.give((<-waits).hold)
				k.Fatal("the process that has released was faster")
			}
			k.give((<-again).hold)
		}
	})
}

// A process that only polls listens to nothing and stands in no queue.
func TestATryOfAnotherProcessSucceedsBesideWritersThatHandTheLockOn(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock, poller := k.process(), k.process()
		end := time.Now().Add(5 * time.Second)
		var writers sync.WaitGroup
		for range 4 {
			writers.Go(func() {
				for time.Now().Before(end) {
					hold, err := lock.Lock(k.ctx)
					require.NoError(k, err)
					time.Sleep(100 * time.Microsecond)
					require.NoError(k, hold.Unlock(k.ctx))
				}
			})
		}
		turns, worst, last := 0, time.Duration(0), time.Now()
		for time.Now().Before(end) {
			time.Sleep(time.Millisecond)
			if hold, err := poller.TryLock(k.ctx); err == nil {
				worst, last = max(worst, time.Since(last)), time.Now()
				turns++
				k.give(hold)
			}
		}
		writers.Wait()
		require.Less(k, worst, 300*time.Millisecond)
		require.GreaterOrEqual(k, turns, 15)
		k.Logf("%d turns, the longest wait for one %v", turns, worst)
	})
}

// A message makes the news of the streak old, so a local hand-off is not possible, and an atomic one is none of a writer's. The waiter is
// promised the lock until the release is answered, and does not ask meanwhile.
func TestAWriterThatIsPromisedTheLockByTheReleaseDoesNotAsk(t *testing.T) {
	fakeTime(t, func(k *kit) {
		client, sent, slowly := redis.NewClient(redistest.InMemoryOptions(k.mini)), redistest.Sent{}, slow{by: time.Millisecond}
		k.Cleanup(func() { _ = client.Close() })
		client.AddHook(&sent)
		client.AddHook(&slowly)
		lock := k.over(client, redlatch.WithPoll(time.Hour))
		hold := k.take(lock.Lock, k.ctx)
		next := k.asks(lock.Lock, k.ctx)
		k.waits(next)
		message := func() {
			require.Positive(k, k.mini.Publish("redisson_rwlock:{"+k.name+"}", "1"))
			synctest.Wait()
		}
		message()
		before := sent.Load()
		slowly.on.Store(true)
		gave := make(chan error, 1)
		go func() { gave <- hold.Unlock(k.ctx) }()
		synctest.Wait()
		slowly.on.Store(false)
		message() // it would wake a waiter that nobody has promised anything
		require.EqualValues(k, 1, sent.Load()-before, "the release alone")
		require.NoError(k, <-gave)
		k.give(k.served(next))
	})
}

// A release has the process stand in the queue behind another one. The first waiter of the process has asked nothing so far, and a try
// beside it is refused at once all the same.
func TestATryBesideAWaiterThatAReleaseHasStandInTheQueueIsRefusedAtOnce(t *testing.T) {
	fakeTime(t, func(k *kit) {
		lock, other := k.process(redlatch.WithPoll(time.Hour)), k.process(redlatch.WithPoll(time.Hour))
		hold := k.take(lock.Lock, k.ctx)
		next, theirs := k.asks(lock.Lock, k.ctx), k.asks(other.Lock, k.ctx)
		time.Sleep(time.Second) // the streak is over
		k.waits(next)
		k.waits(theirs)
		k.give(hold)
		told := k.served(theirs)
		start := time.Now()
		_, err := lock.TryLock(k.ctx)
		require.ErrorIs(k, err, redlatch.ErrNotAcquired)
		require.NotErrorIs(k, err, redlatch.ErrUnavailable)
		require.Less(k, time.Since(start), 100*time.Millisecond)
		k.give(told)
		k.give(k.served(next))
	})
}
