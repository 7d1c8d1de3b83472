package rwlock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// An outsider waits to write as Redisson does: it stands in no queue and announces nothing, listens for
// releases, and asks some time after it heard one.
type outsider struct {
	*kit
	reaction time.Duration
}

func (o outsider) channel() string { return "redisson_rwlock:{" + o.name + "}" }

// turn writes for a section, and answers how long it had to wait.
func (o outsider) turn(section time.Duration) time.Duration {
	began := time.Now()
	if !o.ask() {
		messages := o.client.Subscribe(o.ctx, o.channel())
		_, err := messages.Receive(o.ctx)
		require.NoError(o, err)
		heard, over := messages.Channel(), time.After(5*time.Second)
		for !o.ask() {
			select {
			case <-heard:
			case <-over:
				require.Fail(o, "no turn within 5 s")
			}
			time.Sleep(o.reaction)
			for len(heard) > 0 { // the question comes after all of them
				<-heard
			}
		}
		require.NoError(o, messages.Close())
	}
	waited := time.Since(began)
	time.Sleep(section)
	require.NoError(o, o.client.Del(o.ctx, o.name).Err())
	require.NoError(o, o.client.Publish(o.ctx, o.channel(), "1").Err())
	return waited
}

// ask takes the lock if its hash is not there.
func (o outsider) ask() bool {
	const script = `return redis.call('exists', KEYS[1]) == 0 and redis.call('hset', KEYS[1], 'mode', 'write', ARGV[1], '1') or 0`
	held, err := o.client.Eval(o.ctx, script, []string{o.name}, "b983c153-7421-469a-addb-44fb92259a1b:42:write").Int()
	require.NoError(o, err)
	return held == 2
}

// crowd has readers of three processes, and writers of each, use the lock without a pause. It returns how
// many sections there were.
func (k *kit) crowd(ctx context.Context, readers, writers int, section time.Duration) (sections *atomic.Int64, all *sync.WaitGroup) {
	sections, all = new(atomic.Int64), new(sync.WaitGroup)
	for p := range 3 {
		lock := k.process()
		use := func(locker redlatch.Locker, delay time.Duration) {
			all.Go(func() {
				time.Sleep(delay)
				for ctx.Err() == nil {
					_ = redlatch.Do(ctx, locker, func(context.Context) error { sections.Add(1); time.Sleep(section); return nil })
				}
			})
		}
		for i := range readers {
			use(lock.Reader(), time.Duration(p*7+i*3)*section/10) // some hold at any time
		}
		for range writers {
			use(lock.Writer(), 0)
		}
	}
	return sections, all
}

func TestAnOutsiderThatWritesHasItsTurnInTime(t *testing.T) {
	for _, c := range []struct {
		readers, writers  int
		section, reaction time.Duration
	}{
		{1, 0, 3 * time.Millisecond, time.Millisecond},
		{4, 0, 3 * time.Millisecond, time.Millisecond},
		{4, 0, 3 * time.Millisecond, 15 * time.Millisecond},
		{4, 0, 40 * time.Millisecond, time.Millisecond},
		{2, 1, 10 * time.Millisecond, 15 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d readers and %d writers of %v, %v", c.readers, c.writers, c.section, c.reaction), func(t *testing.T) {
			fakeTime(t, func(k *kit) {
				ctx, stop := context.WithCancel(k.ctx)
				_, all := k.crowd(ctx, c.readers, c.writers, c.section)
				time.Sleep(time.Second)
				o := outsider{k, c.reaction}
				var longest time.Duration
				for range 4 {
					longest = max(longest, o.turn(c.section))
					time.Sleep(7 * time.Millisecond)
				}
				require.Less(k, longest, 500*time.Millisecond)
				k.Logf("waited for %v at most", longest)
				stop()
				all.Wait()
				time.Sleep(time.Minute) // workers go
			})
		})
	}
}

// A program that listens and never asks costs readers little, and the others nothing.
func TestAListenerThatNeverAsksKeepsReadersOutForMomentsOnly(t *testing.T) {
	for _, readers := range []int{1, 4} {
		fakeTime(t, func(k *kit) {
			ctx, stop := context.WithCancel(k.ctx)
			sections, all := k.crowd(ctx, readers, 0, 3*time.Millisecond)
			during := func(d time.Duration) int64 {
				before := sections.Load()
				time.Sleep(d)
				return sections.Load() - before
			}
			alone := during(2 * time.Second)
			require.Zero(k, k.client.Exists(k.ctx, announced).Val(), "nothing is announced")
			sleeper := k.client.Subscribe(k.ctx, "redisson_rwlock:{rw}")
			_, err := sleeper.Receive(k.ctx)
			require.NoError(k, err)
			beside := during(2 * time.Second)
			require.Less(k, beside, alone, "it is taken for a writer")
			require.Greater(k, 100*beside, 80*alone)
			require.NoError(k, sleeper.Close())
			stop()
			all.Wait()
			time.Sleep(time.Minute) // workers go
			require.Zero(k, k.client.Exists(k.ctx, announced).Val())
		})
	}
}

const announced = "redlatch_rwlock_writers:{rw}"
