package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
)

// A held is a lock or a permit that this process has.
type held struct {
	owner   string
	until   func() time.Time
	context func(context.Context) context.Context
	keep    func(context.Context) error
	release func(context.Context) error
	inspect func(context.Context) (redlatch.Info, error)
	news    *news
}

// take waits for what the config names.
func (c *Config) take(ctx context.Context) (*held, error) {
	if err := c.sameKind(ctx); err != nil {
		return nil, err
	}
	opts := []redlatch.Option{
		redlatch.WithWatchdogTimeout(c.Lease),
		redlatch.WithReleaseTimeout(min(5*time.Second, c.Lease/3)), // after an outage there is nothing to wait for
	}
	switch {
	case c.Once: // a Try method takes no limit of a wait
	case c.Wait >= 0:
		opts = append(opts, redlatch.WithWait(c.Wait))
	default:
		opts = append(opts, redlatch.WithOutage(c.Lease)) // an election must not end a wait that has no limit
	}
	switch c.Mode {
	case Permits:
		return c.takePermit(ctx, opts)
	case Read:
		return c.takeLock(ctx, rwlock.New(c.Client, c.Name).Reader(), opts)
	case Write:
		return c.takeLock(ctx, rwlock.New(c.Client, c.Name).Writer(), opts)
	default:
		return c.takeLock(ctx, rlock.New(c.Client, c.Name), opts)
	}
}

// A locker is a lock of this module: besides the methods of redlatch.Locker it has Inspect, which tells its
// holders.
type locker interface {
	redlatch.Locker
	redlatch.Inspector
}

func (c *Config) takeLock(ctx context.Context, lock locker, opts []redlatch.Option) (*held, error) {
	acquire := lock.Lock
	if c.Once {
		acquire = lock.TryLock
	}
	if c.AtLeast > 0 {
		opts = append(opts, redlatch.WithAtLeast(c.AtLeast))
	}
	observed, news := listen()
	hold, err := acquire(ctx, append(opts, observed)...)
	if err != nil {
		return nil, err
	}
	if err := c.prolong(ctx, hold); err != nil {
		_ = hold.Unlock(context.Background()) // what fails is free when the lease is over
		return nil, err
	}
	keep := func(ctx context.Context) error { return c.keep(ctx, hold) }
	return &held{hold.Owner(), hold.Until, hold.Context, keep, hold.Unlock, lock.Inspect, news}, nil
}

// prolong gives the hold the whole lease if much of that is missing: a lock that another process has passed on lasts 10 s at first, and
// a grant may arrive late. The end of the command is planned for a lease, and what is missing would be missing before the first renewal.
func (c *Config) prolong(ctx context.Context, hold *redlatch.Hold) error {
	if time.Until(hold.Until()) >= c.Lease-c.Lease/10 {
		return nil
	}
	return extend(ctx, hold, c.Lease)
}

// keep has the lock stay taken for as long as --at-least says, whatever becomes of this process.
func (c *Config) keep(ctx context.Context, hold *redlatch.Hold) error {
	if c.AtLeast <= c.Lease {
		return nil
	}
	return extend(ctx, hold, c.AtLeast+c.AtLeast/50+time.Second) // with what the library adds, so that the end of the run needs no command
}

func extend(ctx context.Context, hold *redlatch.Hold, lease time.Duration) error {
	ctx, cancel := context.WithDeadline(ctx, hold.Until())
	defer cancel()
	return hold.Extend(ctx, lease)
}

func (c *Config) takePermit(ctx context.Context, opts []redlatch.Option) (*held, error) {
	pool := permitsemaphore.New(c.Client, c.Name, permitsemaphore.WithPermits(c.Permits))
	total, err := pool.TotalPermits(ctx)
	if err != nil {
		return nil, err
	}
	if total != c.Permits {
		return nil, exit.With(exit.Usage, fmt.Errorf("-N %d: %q has %d permits; all runs have to give the same number", c.Permits, c.Name, total))
	}
	acquire := pool.Acquire
	if c.Once {
		acquire = pool.TryAcquire
	}
	observed, news := listen()
	permit, err := acquire(ctx, 1, append(opts, observed)...)
	if err != nil {
		return nil, err
	}
	keep := func(context.Context) error { return nil }
	return &held{permit.IDs()[0], permit.Until, permit.Context, keep, permit.Release, pool.Inspect, news}, nil
}

// sameKind finds out whether Redis has a lock of another kind under the name. A lock that is not reentrant with its own kind
// would only look taken. It is a courtesy: nothing relies on it, and a lock that appears later is not seen.
func (c *Config) sameKind(ctx context.Context) error {
	if c.Mode == Permits {
		return nil // the semaphore finds out by itself
	}
	mode, err := c.mode(ctx)
	switch {
	case err != nil && strings.Contains(err.Error(), "WRONGTYPE"):
		return exit.With(exit.WrongKind, fmt.Errorf("%q holds something else than a lock; use another name, or remove what nobody needs: %w", c.Name, err))
	case errors.Is(err, redis.Nil):
		if c.Mode == Lock {
			return nil
		}
		if exists, err := c.Client.Exists(ctx, c.Name).Result(); err == nil && exists > 0 {
			return exit.With(exit.WrongKind, fmt.Errorf("%q is held as a plain lock, so it cannot be taken with -s or -x", c.Name))
		}
		return nil
	case err != nil:
		return nil // the lock itself has more patience with a server that fails
	case c.Mode == Lock:
		return exit.With(exit.WrongKind, fmt.Errorf("%q is held as a read-write lock (mode %q); give -s or -x", c.Name, mode))
	}
	return nil
}

// mode asks Redis.
func (c *Config) mode(ctx context.Context) (string, error) {
	return within(ctx, askLimit, func(ctx context.Context) (string, error) { return c.Client.HGet(ctx, c.Name, "mode").Result() })
}

// askLimit is how long Redis has to answer a question on which nothing relies.
const askLimit = 2 * time.Second

// confirm asks Redis whether the lock is still this process's.
func (h *held) confirm(ctx context.Context) (bool, error) {
	info, err := h.inspect(ctx)
	return err == nil && holds(info, h.owner, ""), err
}

// holds tells whether the owner is among the holders, on the side if one is given.
func holds(info redlatch.Info, owner, side string) bool {
	for _, holder := range info.Holders {
		if holder.Owner == owner && (side == "" || holder.Side == side) {
			return true
		}
	}
	return false
}
