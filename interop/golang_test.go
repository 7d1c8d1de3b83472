package interop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/countdownlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/rlock"
	"github.com/redlatch/redlatch/rwlock"
	"github.com/redlatch/redlatch/semaphore"
	"github.com/redlatch/redlatch/spinlock"
)

// A makeLock makes the lock of one kind.
type makeLock func(client redlatch.Client, o object, opts ...redlatch.Option) redlatch.Locker

// goLocks are the locks of this module by the names of their kinds, which are those of the Java side.
var goLocks = map[string]makeLock{
	"lock":             named(rlock.New),
	"nonreentrant":     named(rlock.NewNonReentrant),
	"fair":             named(fairlock.New),
	"nonreentrantfair": named(fairlock.NewNonReentrant),
	"spin":             named(spinlock.New),
	"read": func(client redlatch.Client, o object, opts ...redlatch.Option) redlatch.Locker {
		return rwlock.New(client, o.name, opts...).Reader()
	},
	"write": func(client redlatch.Client, o object, opts ...redlatch.Option) redlatch.Locker {
		return rwlock.New(client, o.name, opts...).Writer()
	},
}

func named[L redlatch.Locker](make func(redlatch.Client, string, ...redlatch.Option) L) makeLock {
	return func(client redlatch.Client, o object, opts ...redlatch.Option) redlatch.Locker {
		return make(client, o.name, opts...)
	}
}

// administered is what most locks offer beside Locker.
type administered interface {
	IsLocked(ctx context.Context) (bool, error)
	HoldCount(ctx context.Context) (int64, error)
	RemainingTTL(ctx context.Context) (time.Duration, error)
	ForceUnlock(ctx context.Context) (bool, error)
}

// inspected is what those offer of these that are one key for one owner.
type inspected interface {
	Inspect(ctx context.Context) (redlatch.Info, error)
}

// goActor is one holder of this module's locks. Its holds are on a stack for each name, so that it can be told to give
// back "one hold", as a Java thread is.
type goActor struct {
	client redlatch.Client
	opts   []redlatch.Option
	stack  []held
	grants map[string]*permitsemaphore.Permit // by id
}

type held struct {
	object object
	hold   *redlatch.Hold
}

// golang makes a Go actor. Its polls are so far apart that a wake-up in time was one by message.
func (w *world) golang(t *testing.T) actor {
	t.Helper()
	return &goActor{client: w.goClient, opts: append([]redlatch.Option{redlatch.WithPoll(20 * time.Second)}, w.opts...)}
}

// quickGo makes one with the watchdog timeout of quickJava.
func (w *world) quickGo(t *testing.T) actor {
	t.Helper()
	return &goActor{client: w.goClient, opts: append([]redlatch.Option{redlatch.WithWatchdogTimeout(shortWatchdog)}, w.opts...)}
}

// pollingGo makes one that asks again after this time, for waits that no message ends.
func (w *world) pollingGo(t *testing.T, poll time.Duration) actor {
	t.Helper()
	return &goActor{client: w.goClient, opts: append([]redlatch.Option{redlatch.WithPoll(poll)}, w.opts...)}
}

func (a *goActor) side() string { return "Go" }

func (a *goActor) locker(o object) redlatch.Locker { return goLocks[o.kind](a.client, o, a.opts...) }

func (a *goActor) admin(o object) administered { return a.locker(o).(administered) }

// ctx carries what this actor holds of the object, on both sides of a read-write lock.
func (a *goActor) ctx(o object) context.Context {
	ctx := context.Background()
	for _, h := range a.stack {
		if h.object.name == o.name && h.hold.Valid() {
			ctx = h.hold.Context(ctx)
		}
	}
	return ctx
}

func (a *goActor) owner(o object) string {
	if h := a.newest(o); h >= 0 {
		owner := a.stack[h].hold.Owner()
		if o.kind == "write" {
			owner += ":write"
		}
		return owner
	}
	return ""
}

// newest is the index of the last hold of the object, or -1.
func (a *goActor) newest(o object) int {
	for i := len(a.stack) - 1; i >= 0; i-- {
		if a.stack[i].object == o {
			return i
		}
	}
	return -1
}

func options(h how) (opts []redlatch.Option) {
	if h.wait > 0 {
		opts = append(opts, redlatch.WithWait(h.wait))
	}
	if h.lease > 0 {
		opts = append(opts, redlatch.WithLease(h.lease))
	}
	return opts
}

func (a *goActor) lock(o object, h how) error {
	hold, err := a.locker(o).Lock(a.ctx(o), options(h)...)
	return a.keep(o, hold, err)
}

func (a *goActor) tryLock(o object, lease time.Duration) error {
	hold, err := a.locker(o).TryLock(a.ctx(o), options(how{lease: lease})...)
	return a.keep(o, hold, err)
}

func (a *goActor) keep(o object, hold *redlatch.Hold, err error) error {
	if err == nil {
		a.stack = append(a.stack, held{o, hold})
	}
	return goError(err)
}

// goError is err, also as the error that both sides have for it.
func goError(err error) error {
	switch {
	case errors.Is(err, redlatch.ErrNotAcquired):
		return fmt.Errorf("%w: %w", errBusy, err)
	case errors.Is(err, redlatch.ErrLost), errors.Is(err, redlatch.ErrNotHeld):
		return fmt.Errorf("%w: %w", errNotOwner, err)
	}
	return err
}

func (a *goActor) unlock(o object) error {
	i := a.newest(o)
	if i < 0 {
		return errNotOwner // in Go there is nothing to call Unlock of
	}
	hold := a.stack[i].hold
	a.stack = append(a.stack[:i:i], a.stack[i+1:]...)
	return goError(hold.Unlock(context.Background()))
}

func (a *goActor) held(o object) bool {
	i := a.newest(o)
	return i >= 0 && a.stack[i].hold.Context(context.Background()).Err() == nil
}

func (a *goActor) holds(o object) (int64, error) { return a.admin(o).HoldCount(a.ctx(o)) }

func (a *goActor) token(o object) int64 {
	if i := a.newest(o); i >= 0 {
		return a.stack[i].hold.Token()
	}
	return 0
}

func (a *goActor) lastToken(o object) (int64, error) {
	return a.locker(o).(interface {
		LastToken(ctx context.Context) (int64, error)
	}).LastToken(context.Background())
}

func (a *goActor) forceUnlock(o object) (bool, error) { return a.admin(o).ForceUnlock(a.ctx(o)) }
func (a *goActor) isLocked(o object) (bool, error)    { return a.admin(o).IsLocked(a.ctx(o)) }
func (a *goActor) ttl(o object) (time.Duration, error) {
	return a.admin(o).RemainingTTL(a.ctx(o))
}

func (a *goActor) semaphore(o object) *semaphore.Semaphore {
	return semaphore.New(a.client, o.name, a.opts...)
}

func (a *goActor) permits(o object) *permitsemaphore.Semaphore {
	return permitsemaphore.New(a.client, o.name, a.opts...)
}

func (a *goActor) latch(o object) *countdownlatch.Latch {
	return countdownlatch.New(a.client, o.name, a.opts...)
}

func (a *goActor) setUp(o object, n int64) (bool, error) {
	ctx := context.Background()
	switch o.kind {
	case "latch":
		return a.latch(o).TrySetCount(ctx, n)
	case "permits":
		return a.permits(o).TrySetPermits(ctx, n)
	}
	return a.semaphore(o).TrySetPermits(ctx, n)
}

func (a *goActor) acquire(o object, n int64, h how) ([]string, error) {
	ctx := context.Background()
	if o.kind == "permits" {
		if h.lease == 0 {
			return a.granted(a.permits(o).Acquire(ctx, n, append(options(h), permitsemaphore.WithoutExpiry())...))
		}
		return a.granted(a.permits(o).Acquire(ctx, n, options(h)...))
	}
	return nil, goError(a.semaphore(o).Acquire(ctx, n, options(h)...))
}

func (a *goActor) tryAcquire(o object, n int64, lease time.Duration) ([]string, error) {
	ctx := context.Background()
	if o.kind == "permits" {
		opts := options(how{lease: lease})
		if lease == 0 {
			opts = append(opts, permitsemaphore.WithoutExpiry())
		}
		return a.granted(a.permits(o).TryAcquire(ctx, n, opts...))
	}
	return nil, goError(a.semaphore(o).TryAcquire(ctx, n))
}

func (a *goActor) granted(permit *permitsemaphore.Permit, err error) ([]string, error) {
	if err != nil {
		return nil, goError(err)
	}
	if a.grants == nil {
		a.grants = map[string]*permitsemaphore.Permit{}
	}
	for _, id := range permit.IDs() {
		a.grants[id] = permit // a permit that nobody refers to ends
	}
	return permit.IDs(), nil
}

func (a *goActor) release(o object, n int64, ids []string) error {
	if o.kind == "permits" {
		return goError(a.permits(o).Release(context.Background(), ids...))
	}
	return a.semaphore(o).Release(context.Background(), n)
}

func (a *goActor) tryRelease(o object, n int64, ids []string) (bool, error) {
	if o.kind == "permits" {
		return a.permits(o).TryRelease(context.Background(), ids...)
	}
	return a.semaphore(o).ReleaseIfExists(context.Background(), n)
}

func (a *goActor) available(o object) (int64, error) {
	ctx := context.Background()
	switch o.kind {
	case "latch":
		return a.latch(o).Count(ctx)
	case "permits":
		return a.permits(o).AvailablePermits(ctx)
	}
	return a.semaphore(o).AvailablePermits(ctx)
}

func (a *goActor) acquired(o object) (int64, error) {
	return a.permits(o).AcquiredPermits(context.Background())
}

func (a *goActor) total(o object) (int64, error) {
	return a.permits(o).TotalPermits(context.Background())
}

func (a *goActor) setTotal(o object, n int64) error {
	return a.permits(o).SetPermits(context.Background(), n)
}

func (a *goActor) add(o object, d int64) (err error) {
	if o.kind == "permits" {
		_, err = a.permits(o).AddPermits(context.Background(), d)
	} else {
		_, err = a.semaphore(o).AddPermits(context.Background(), d)
	}
	return err
}

func (a *goActor) drain(o object) (int64, error) {
	return a.semaphore(o).DrainPermits(context.Background())
}

func (a *goActor) updateLease(o object, id string, lease time.Duration) error {
	if lease == 0 {
		lease = permitsemaphore.NoExpiry
	}
	return goError(a.permits(o).UpdateLease(context.Background(), id, lease))
}

func (a *goActor) leaseTime(o object, id string) (time.Duration, error) {
	return a.permits(o).LeaseTime(context.Background(), id)
}

func (a *goActor) countDown(o object) error { return a.latch(o).CountDown(context.Background()) }

func (a *goActor) await(o object, wait time.Duration) error {
	return goError(a.latch(o).Await(context.Background(), options(how{wait: wait})...))
}

func (a *goActor) remove(o object) (bool, error) {
	switch o.kind {
	case "latch":
		return a.latch(o).Delete(context.Background())
	case "permits":
		return a.permits(o).Delete(context.Background())
	}
	return a.semaphore(o).Delete(context.Background())
}

func (a *goActor) expire(o object, ttl time.Duration) (bool, error) {
	if o.kind == "permits" {
		return a.permits(o).Expire(context.Background(), ttl)
	}
	return a.semaphore(o).Expire(context.Background(), ttl)
}

func (a *goActor) persist(o object) (bool, error) {
	if o.kind == "permits" {
		return a.permits(o).Persist(context.Background())
	}
	return a.semaphore(o).Persist(context.Background())
}
