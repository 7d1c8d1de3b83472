package sim_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// The primitives of this file are what people write who need a lock by noon. Each has one well-known mistake.

// A naiveHold believes in itself until it is given back.
type naiveHold struct {
	owner string
	free  func(ctx context.Context) error
}

func (naiveHold) Valid() bool                                 { return true }
func (naiveHold) Context(ctx context.Context) context.Context { return ctx }
func (naiveHold) Extend(context.Context, time.Duration) error { return nil }
func (naiveHold) Leave() bool                                 { return false }
func (naiveHold) Token() int64                                { return 0 }
func (h naiveHold) Owner() string                             { return h.owner }
func (h naiveHold) Release(ctx context.Context) error         { return h.free(ctx) }

var owners atomic.Int64

func naiveOwner() string { return fmt.Sprint("naive", owners.Add(1)) }

// until asks every so often until the answer is yes.
func until(ctx context.Context, pause time.Duration, ask func() (bool, error)) error {
	for {
		if yes, err := ask(); yes {
			return nil
		} else if err != nil && ctx.Err() == nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", redlatch.ErrNotAcquired, ctx.Err())
		}
	}
}

// naiveLocker is a lock with a time limit that nobody renews, and that whoever gives it back deletes.
type naiveLocker struct {
	rdb  *redis.Client
	name string
}

func (l naiveLocker) take(ctx context.Context) (bool, error) {
	return l.rdb.Eval(ctx, `return redis.call('set', KEYS[1], '1', 'nx', 'px', 2000) and 1 or 0`, []string{l.name}).Bool()
}

func (l naiveLocker) hold() sim.Hold {
	return naiveHold{free: func(ctx context.Context) error { return l.rdb.Del(ctx, l.name).Err() }}
}

func (l naiveLocker) Lock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	err := until(ctx, 100*time.Millisecond, func() (bool, error) { return l.take(ctx) })
	return l.hold(), err
}

func (l naiveLocker) TryLock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	if yes, err := l.take(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	} else if !yes {
		return nil, redlatch.ErrNotAcquired
	}
	return l.hold(), nil
}

// naiveQueue is a fair lock whose queue nobody looks at.
type naiveQueue struct{ naiveLocker }

func (l naiveQueue) Lock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	queue, owner := "redisson_lock_queue:{"+l.name+"}", naiveOwner()
	if err := l.rdb.RPush(ctx, queue, owner).Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	}
	defer l.rdb.LRem(context.Background(), queue, 1, owner)
	pause := time.Duration(20+owners.Load()%7*60) * time.Millisecond
	err := until(ctx, pause, func() (bool, error) { return l.take(ctx) })
	return naiveHold{owner, func(ctx context.Context) error { return l.rdb.Del(ctx, l.name).Err() }}, err
}

// naiveListener is a lock whose waiters sleep until they hear that it is free.
type naiveListener struct{ naiveLocker }

func (l naiveListener) Lock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	sub := l.rdb.Subscribe(ctx, "free:"+l.name)
	defer func() { _ = sub.Close() }()
	for {
		if yes, _ := l.take(ctx); yes {
			return naiveHold{free: func(ctx context.Context) error {
				return errors.Join(l.rdb.Del(ctx, l.name).Err(), l.rdb.Publish(ctx, "free:"+l.name, 1).Err())
			}}, nil
		}
		heard, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			for {
				if m, err := sub.Receive(ctx); err != nil {
					return
				} else if _, ok := m.(*redis.Message); ok {
					return
				}
			}
		}()
		<-heard.Done()
		stop()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", redlatch.ErrNotAcquired, ctx.Err())
		}
	}
}

// naiveCounter looks how many permits there are, and then takes its own.
type naiveCounter struct {
	rdb  *redis.Client
	name string
}

func (c naiveCounter) take(ctx context.Context, n int64) (bool, error) {
	if have, err := c.rdb.Get(ctx, c.name).Int64(); err != nil || have < n {
		return false, err
	}
	return true, c.rdb.DecrBy(ctx, c.name, n).Err()
}

func (c naiveCounter) hold(n int64) sim.Hold {
	return naiveHold{free: func(ctx context.Context) error { return c.rdb.IncrBy(ctx, c.name, n).Err() }}
}

func (c naiveCounter) Acquire(ctx context.Context, n int64, _ ...redlatch.Option) (sim.Hold, error) {
	err := until(ctx, 20*time.Millisecond, func() (bool, error) { return c.take(ctx, n) })
	return c.hold(n), err
}

func (c naiveCounter) TryAcquire(ctx context.Context, n int64, _ ...redlatch.Option) (sim.Hold, error) {
	if yes, err := c.take(ctx, n); err != nil || !yes {
		return nil, redlatch.ErrNotAcquired
	}
	return c.hold(n), nil
}

// naiveBarrier counts down with a command that the client library repeats when its answer is lost.
type naiveBarrier struct {
	rdb  *redis.Client
	name string
}

func (b naiveBarrier) CountDown(ctx context.Context) error {
	err := b.rdb.Eval(context.Background(), `return redis.call('decr', KEYS[1])`, []string{b.name}).Err()
	if err != nil {
		return fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	}
	return nil
}

func (b naiveBarrier) Await(ctx context.Context, _ ...redlatch.Option) error {
	return until(ctx, 20*time.Millisecond, func() (bool, error) {
		n, err := b.rdb.Get(ctx, b.name).Int64()
		return err == nil && n <= 0, err
	})
}
