package rwlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
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
					opts = append(opts, redlatch.WithLinger(time.Second))
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
