package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/fencedlock"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/redlock"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// Library is redlatch.
var Library = Suite{
	Locker: func(rdb []redis.UniversalClient, o Object, way string) Locker { return locker{lockOf(rdb, o, way)} },
	Semaphore: func(rdb redis.UniversalClient, o Object) Counter {
		if o.Kind == Permits {
			return permits{permitsOf(rdb, o)}
		}
		return counter{semaphoreOf(rdb, o)}
	},
	Latch:   func(rdb redis.UniversalClient, o Object) Barrier { return countdownlatch.New(rdb, o.Name) },
	Guard:   func(rdb redis.UniversalClient, o Object) Guard { return guard{fencedlock.NewGuard(rdb, o.Name)} },
	Prepare: prepare,
	Force: func(ctx context.Context, rdb redis.UniversalClient, o Object) error {
		if o.Kind == Latch {
			_, err := countdownlatch.New(rdb, o.Name).Delete(ctx)
			return err
		}
		freed, err := lockOf([]redis.UniversalClient{rdb}, o, ways[o.Kind][0]).ForceUnlock(ctx)
		if o.Kind == RW && !freed && err == nil { // each side frees its own holders
			_, err = lockOf([]redis.UniversalClient{rdb}, o, "read").ForceUnlock(ctx)
		}
		return err
	},
	Final: final,
}

// A lock is what the plans take and free by force.
type lock interface {
	redlatch.Locker
	ForceUnlock(ctx context.Context) (bool, error)
}

func lockOf(rdb []redis.UniversalClient, o Object, way string) lock {
	one := rdb[0]
	switch way {
	case "rlock":
		return rlock.New(one, o.Name)
	case "nonreentrant":
		return rlock.NewNonReentrant(one, o.Name)
	case "spin":
		return spinlock.New(one, o.Name)
	case "fenced":
		return fencedlock.New(one, o.Name, o.tokens()...)
	case "fenced nonreentrant":
		return fencedlock.NewNonReentrant(one, o.Name, o.tokens()...)
	case "fair":
		return fairlock.New(one, o.Name)
	case "write":
		var opts []redlatch.Option
		if o.WritersFirst {
			opts = append(opts, rwlock.WithWriterPreference())
		}
		return rwlock.New(one, o.Name, opts...).Writer()
	case "read":
		return rwlock.New(one, o.Name).Reader()
	case "multi":
		return multilock.New([]redlatch.Locker{lockOf(rdb, o, "first"), lockOf(rdb, o, "second")})
	case "first":
		return rlock.New(one, o.Name+"a")
	case "second":
		if o.Mixed {
			return fairlock.New(one, o.Name+"b")
		}
		return rlock.New(one, o.Name+"b")
	case "group":
		return multilock.NewGroup(one, o.Name, []string{"a", "b"})
	case "first value":
		return multilock.NewGroup(one, o.Name, []string{"a"})
	case "second value":
		return multilock.NewGroup(one, o.Name, []string{"b"})
	case "redlock":
		var clients []redlatch.Client
		for _, r := range rdb {
			clients = append(clients, r)
		}
		return redlock.New(clients, o.Name)
	}
	panic("sim: no way " + way)
}

func (o Object) tokens() []redlatch.Option {
	if o.Clock {
		return []redlatch.Option{fencedlock.WithClockTokens()}
	}
	return nil
}

// locker gives the library's holds.
type locker struct{ of redlatch.Locker }

func (l locker) Lock(ctx context.Context, opts ...redlatch.Option) (Hold, error) {
	return wrap(l.of.Lock(ctx, opts...))
}

func (l locker) TryLock(ctx context.Context, opts ...redlatch.Option) (Hold, error) {
	return wrap(l.of.TryLock(ctx, opts...))
}

func wrap(h *redlatch.Hold, err error) (Hold, error) {
	if err != nil {
		return nil, err
	}
	return hold{h}, nil
}

type hold struct{ *redlatch.Hold }

func (h hold) Release(ctx context.Context) error { return h.Unlock(ctx) }
func (h hold) Leave() bool                       { h.Hold.Leave(); return true }
func (h hold) IDs() []string                     { return nil }

// counter gives permits of a semaphore, which have no owner.
type counter struct{ *semaphore.Semaphore }

func (c counter) Acquire(ctx context.Context, n int64, opts ...redlatch.Option) (Hold, error) {
	return taken{c.Semaphore, n}, c.Semaphore.Acquire(ctx, n, opts...)
}

func (c counter) TryAcquire(ctx context.Context, n int64, _ ...redlatch.Option) (Hold, error) {
	return taken{c.Semaphore, n}, c.Semaphore.TryAcquire(ctx, n)
}

type taken struct {
	semaphore *semaphore.Semaphore
	n         int64
}

func (taken) Valid() bool                                 { return true }
func (taken) Context(ctx context.Context) context.Context { return ctx }
func (taken) Extend(context.Context, time.Duration) error { return nil }
func (t taken) Release(ctx context.Context) error         { return t.semaphore.Release(ctx, t.n) }
func (taken) Leave() bool                                 { return false }
func (taken) Token() int64                                { return 0 }
func (taken) Owner() string                               { return "" }
func (taken) IDs() []string                               { return nil }

// permits gives permits with ids.
type permits struct{ *permitsemaphore.Semaphore }

func (p permits) Acquire(ctx context.Context, n int64, opts ...redlatch.Option) (Hold, error) {
	return wrapPermit(p.Semaphore.Acquire(ctx, n, opts...))
}

func (p permits) TryAcquire(ctx context.Context, n int64, opts ...redlatch.Option) (Hold, error) {
	return wrapPermit(p.Semaphore.TryAcquire(ctx, n, opts...))
}

func wrapPermit(p *permitsemaphore.Permit, err error) (Hold, error) {
	if errors.Is(err, redlatch.ErrInvalid) && strings.Contains(err.Error(), " in all, and ") { // another has taken some away for good
		err = fmt.Errorf("%w: %v", redlatch.ErrNotAcquired, err)
	}
	if err != nil {
		return nil, err
	}
	return permit{p}, nil
}

type permit struct{ *permitsemaphore.Permit }

func (p permit) Extend(ctx context.Context, lease time.Duration) error {
	return p.UpdateLease(ctx, lease)
}
func (permit) Leave() bool   { return false }
func (permit) Token() int64  { return 0 }
func (permit) Owner() string { return "" }

// guard is one of a fenced lock.
type guard struct{ of *fencedlock.Guard }

func (g guard) For(h redlatch.Fenced) Writer { return g.of.For(h) }

// sized tells whether a semaphore is set up by those who acquire, and not before.
func sized(o Object) bool { return o.N%2 == 0 }

func semaphoreOf(rdb redis.UniversalClient, o Object) *semaphore.Semaphore {
	if sized(o) {
		return semaphore.New(rdb, o.Name, semaphore.WithPermits(o.N))
	}
	return semaphore.New(rdb, o.Name)
}

func permitsOf(rdb redis.UniversalClient, o Object) *permitsemaphore.Semaphore {
	if sized(o) {
		return permitsemaphore.New(rdb, o.Name, permitsemaphore.WithPermits(o.N))
	}
	return permitsemaphore.New(rdb, o.Name)
}

func prepare(ctx context.Context, rdb redis.UniversalClient, o Object) (err error) {
	set := true
	switch o.Kind {
	case Semaphore:
		if !sized(o) {
			set, err = semaphore.New(rdb, o.Name).TrySetPermits(ctx, o.N)
		}
	case Permits:
		if !sized(o) {
			set, err = permitsemaphore.New(rdb, o.Name).TrySetPermits(ctx, o.N)
		}
	case Latch:
		set, err = countdownlatch.New(rdb, o.Name).TrySetCount(ctx, o.N)
	}
	if err == nil && !set {
		err = fmt.Errorf("it was there before")
	}
	return err
}

// final is what the server says when all is over: how many permits there are, what is left of a count, or 1 for a lock
// that is taken.
func final(ctx context.Context, rdb []redis.UniversalClient, o Object, thing string) (int64, error) {
	switch o.Kind {
	case Semaphore:
		return semaphoreOf(rdb[0], o).AvailablePermits(ctx)
	case Permits:
		return permitsOf(rdb[0], o).AvailablePermits(ctx)
	case Latch:
		return countdownlatch.New(rdb[0], o.Name).Count(ctx)
	case Group:
		return rdb[0].Exists(ctx, o.Name).Result()
	}
	return rdb[0].Exists(ctx, thing).Result()
}
