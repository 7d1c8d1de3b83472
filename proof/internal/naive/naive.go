// Package naive has primitives as they are often written in a hurry. Each has one well-known mistake, of which a judge that is
// worth anything convicts it.
package naive

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

// Suite is the library with a naive lock in the place of its locks.
func Suite() sim.Suite {
	s := sim.Library
	s.Locker = func(rdb []redis.UniversalClient, o sim.Object, _ string) sim.Locker { return Locker{rdb[0], o.Name} }
	s.Force = func(context.Context, redis.UniversalClient, sim.Object) error { return nil }
	s.Final = func(ctx context.Context, rdb []redis.UniversalClient, o sim.Object, thing string) (int64, error) {
		if o.N > 0 {
			n, err := rdb[0].Get(ctx, thing).Int64()
			return max(0, n), err
		}
		return rdb[0].Exists(ctx, thing).Result()
	}
	return s
}

// A hold believes in itself until it is given back.
type hold struct {
	owner string
	free  func(ctx context.Context) error
}

func (hold) Valid() bool                                 { return true }
func (hold) Context(ctx context.Context) context.Context { return ctx }
func (hold) Extend(context.Context, time.Duration) error { return nil }
func (hold) Leave() bool                                 { return false }
func (hold) Token() int64                                { return 0 }
func (h hold) Owner() string                             { return h.owner }
func (h hold) IDs() []string                             { return nil }
func (h hold) Release(ctx context.Context) error         { return h.free(ctx) }

var owners atomic.Int64

func newOwner() string { return fmt.Sprint("naive", owners.Add(1)) }

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

// Locker is a lock with a time limit that is not renewed. A release deletes the lock, also that of another holder.
type Locker struct {
	Redis redis.UniversalClient
	Name  string
}

func (l Locker) take(ctx context.Context) (bool, error) {
	return l.Redis.Eval(ctx, `return redis.call('set', KEYS[1], '1', 'nx', 'px', 2000) and 1 or 0`, []string{l.Name}).Bool()
}

func (l Locker) taken() sim.Hold {
	return hold{free: func(ctx context.Context) error { return l.Redis.Del(ctx, l.Name).Err() }}
}

func (l Locker) Lock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	err := until(ctx, 100*time.Millisecond, func() (bool, error) { return l.take(ctx) })
	return l.taken(), err
}

func (l Locker) TryLock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	if yes, err := l.take(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	} else if !yes {
		return nil, redlatch.ErrNotAcquired
	}
	return l.taken(), nil
}

// Queue is a fair lock whose waiters do not look at the queue.
type Queue struct{ Locker }

func (l Queue) Lock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	queue, owner := "redisson_lock_queue:{"+l.Name+"}", newOwner()
	if err := l.Redis.RPush(ctx, queue, owner).Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	}
	defer l.Redis.LRem(context.Background(), queue, 1, owner)
	pause := time.Duration(20+owners.Load()%7*60) * time.Millisecond
	err := until(ctx, pause, func() (bool, error) { return l.take(ctx) })
	return hold{owner, func(ctx context.Context) error { return l.Redis.Del(ctx, l.Name).Err() }}, err
}

// Listener is a lock whose waiters sleep until they hear that it is free.
type Listener struct{ Locker }

func (l Listener) Lock(ctx context.Context, _ ...redlatch.Option) (sim.Hold, error) {
	sub := l.Redis.Subscribe(ctx, "free:"+l.Name)
	defer func() { _ = sub.Close() }()
	for {
		if yes, _ := l.take(ctx); yes {
			return hold{free: func(ctx context.Context) error {
				return errors.Join(l.Redis.Del(ctx, l.Name).Err(), l.Redis.Publish(ctx, "free:"+l.Name, 1).Err())
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

// Counter looks how many permits there are, and then takes its own.
type Counter struct {
	Redis redis.UniversalClient
	Name  string
}

func (c Counter) take(ctx context.Context, n int64) (bool, error) {
	if have, err := c.Redis.Get(ctx, c.Name).Int64(); err != nil || have < n {
		return false, err
	}
	return true, c.Redis.DecrBy(ctx, c.Name, n).Err()
}

func (c Counter) taken(n int64) sim.Hold {
	return hold{free: func(ctx context.Context) error { return c.Redis.IncrBy(ctx, c.Name, n).Err() }}
}

func (c Counter) Acquire(ctx context.Context, n int64, _ ...redlatch.Option) (sim.Hold, error) {
	err := until(ctx, 20*time.Millisecond, func() (bool, error) { return c.take(ctx, n) })
	return c.taken(n), err
}

func (c Counter) TryAcquire(ctx context.Context, n int64, _ ...redlatch.Option) (sim.Hold, error) {
	if yes, err := c.take(ctx, n); err != nil || !yes {
		return nil, redlatch.ErrNotAcquired
	}
	return c.taken(n), nil
}

func (c Counter) AddPermits(ctx context.Context, d int64) (int64, error) {
	n, err := c.Redis.IncrBy(ctx, c.Name, d).Result()
	if err != nil {
		err = fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	}
	return n, err
}

// Guard looks which token was the greatest, and then writes.
type Guard struct {
	Redis redis.UniversalClient
	Name  string
}

func (g Guard) For(h redlatch.Fenced) sim.Writer { return Writer{g, h.Token()} }

// Writer writes with a token through a Guard.
type Writer struct {
	Guard
	Token int64
}

func (w Writer) Claim(ctx context.Context) error {
	if seen, err := w.Redis.Get(ctx, "seen:"+w.Name).Int64(); err == nil && seen > w.Token {
		return redlatch.ErrStale
	}
	if err := w.Redis.Set(ctx, "seen:"+w.Name, w.Token, time.Hour).Err(); err != nil {
		return fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	}
	return nil
}

func (w Writer) Do(ctx context.Context, command, key string, args ...any) error {
	if err := w.Claim(ctx); err != nil {
		return err
	}
	if err := w.Redis.Do(ctx, append([]any{command, key}, args...)...).Err(); err != nil {
		return fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	}
	return nil
}

// Barrier counts down with a command that the client library repeats when its answer is lost.
type Barrier struct {
	Redis redis.UniversalClient
	Name  string
}

func (b Barrier) CountDown(ctx context.Context) error {
	err := b.Redis.Eval(context.Background(), `return redis.call('decr', KEYS[1])`, []string{b.Name}).Err()
	if err != nil {
		return fmt.Errorf("%w: %w", redlatch.ErrUncertain, err)
	}
	return nil
}

func (b Barrier) Await(ctx context.Context, _ ...redlatch.Option) error {
	return until(ctx, 20*time.Millisecond, func() (bool, error) {
		n, err := b.Redis.Get(ctx, b.Name).Int64()
		return err == nil && n <= 0, err
	})
}
