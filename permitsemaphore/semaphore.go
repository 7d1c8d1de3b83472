// Package permitsemaphore is a semaphore whose permits have ids and leases, compatible with Redisson's
// RPermitExpirableSemaphore.
//
//	pool := permitsemaphore.New(rdb, "licences", permitsemaphore.WithPermits(8))
//	permit, err := pool.Acquire(ctx, 2)
//	if err != nil {
//		return err
//	}
//	defer permit.Release(ctx) // both
//	return run(permit.Context(ctx))
//
// Unlike the permits of package semaphore, these cannot be lost with their process:
//
//   - A permit without a lease is renewed while its Permit lives, so a long job keeps it; that of a process that dies
//     comes back within the watchdog timeout (30 s), although no message is sent then.
//   - [redlatch.WithLease] makes permits that end by themselves, [WithoutExpiry] permits that never do.
//   - Deadlines are set and judged by the server's clock alone. The clock of a client does not matter, except between
//     clients of Redisson, which use their own clocks.
//   - An id can be passed on: with it any process may release the permit or change its lease.
//   - A permit that is released while another goroutine of the process waits for one goes to that one, for a few milliseconds
//     without a command: [redlatch.WithoutLocalHandOff] turns it off. An id that the program has asked for is never another's.
//   - A permit is taken once and comes back once, whatever happens to the messages: those available and those taken add
//     up to the number that was set.
//
// The life of a Permit:
//
//	          Acquire      Release, Leave, or all its ids were released here
//	(nothing) ───────► held ───────────────────────────────────────────────► released
//	                    │ lease over, or no renewal in time, or released by id
//	                    │ elsewhere, or semaphore deleted
//	                    └──────────────► lost ──── Release (gives back what is left) ──► released
//
// Failures. [Permit.Context] ends with ErrLost before the lease can run out at the server. A permit that was
// taken away, by its id, with the semaphore, or with a primary that failed before the write was replicated,
// is noticed at the next check, at the latest a third of the watchdog timeout plus a second later. A release
// that the server does not confirm goes on in the background. A semaphore that does not exist has no permits,
// but with [WithPermits] the next Acquire sets it up with all. Permits of one that vanished belong to no
// semaphore, and come back to the next semaphore of that name.
//
// In Redis the semaphore is the number of available permits, and a sorted set of the ids that are taken, with
// their deadlines. Waiters of one process are served in their order of arrival; between processes there is no
// order.
package permitsemaphore

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/rootapi"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/settings"
)

// NoExpiry is the lease of a permit that never expires: UpdateLease takes it, and LeaseTime returns it.
const NoExpiry time.Duration = script.NoExpiry

// A Semaphore is a number of permits shared by every process that uses the same name on the same Redis. It is
// safe for concurrent use and needs no closing.
type Semaphore struct {
	_ [0]sync.Mutex // so that go vet finds copies

	counter *counter.Counter
	keys    script.Names
	grace   time.Duration
}

// The options of an acquisition, and of New.
const (
	tryOptions = settings.Lease | settings.NoExpiry | settings.MaxHold | settings.WatchdogTimeout |
		settings.LocalHandOff | settings.LongHold
	acquireOptions = tryOptions | settings.Wait
	newOptions     = acquireOptions | settings.TTL | settings.Permits
)

// New makes a semaphore. It does no I/O: the first Acquire sets up the number of permits that [WithPermits]
// says; without that option TrySetPermits sets it, of any process. New panics if the client is nil or of a
// kind that cannot be used; a bad name or option is reported by the calls. Options: WithPermits, WithLease,
// WithoutExpiry, WithMaxHold, WithWait, WithWatchdogTimeout, WithTTL, WithoutLocalHandOff, and those that
// every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Semaphore {
	c := counter.New(client, name, redlatch.KindPermitSemaphore, keys.SemaphoreChannel, newOptions,
		opts).WithProcessQueue(keys.SemaphoreRow)
	s := &Semaphore{counter: c, keys: script.NamesOf(c.Key), grace: grace}
	c.Inspector = s
	return s
}

// made is the counter of a semaphore that New has made.
func (s *Semaphore) made() *counter.Counter {
	return errs.Made(s.counter, "permitsemaphore.Semaphore is used without New; make it by permitsemaphore.New")
}

// Name returns the name that the semaphore was made with.
func (s *Semaphore) Name() string { return s.made().Name }

// Acquire takes n permits, all or none, waiting until there are that many, and returns them as one Permit.
// ctx governs the wait and nothing else. When it ends first, or the time of WithWait is over, the error
// matches the reason. It matches ErrNotAcquired too if the last answer was a refusal, ErrUnavailable instead
// if the last attempt failed, and the reason alone if there was no answer yet. n is at most 10 000; a Permit
// of 0 holds nothing. While the server fails it goes on for as long as [redlatch.WithOutage] says.
//
// Options: WithLease, WithoutExpiry, WithMaxHold, WithWatchdogTimeout, WithoutLocalHandOff, WithWait. Without
// a lease the permits are renewed while the Permit, or a context made from it, is reachable and not released.
func (s *Semaphore) Acquire(ctx context.Context, n int64, opts ...redlatch.Option) (*Permit, error) {
	return s.acquire(ctx, "Acquire", n, acquireOptions, opts, false)
}

// TryAcquire takes n permits if there are that many; otherwise the error matches ErrNotAcquired. It does not
// overtake others in this process that wait. Options: those of Acquire except WithWait.
func (s *Semaphore) TryAcquire(ctx context.Context, n int64, opts ...redlatch.Option) (*Permit, error) {
	return s.acquire(ctx, "TryAcquire", n, tryOptions, opts, true)
}

// Do runs fn with n permits and their context and gives them back, also when fn panics or ends its goroutine.
// ctx bounds the wait and is the parent of fn's context. The error is fn's, joined with Release's. If the
// permits were not acquired, fn does not run and the error is Acquire's.
func (s *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (err error) {
	permit, err := s.Acquire(ctx, n, opts...)
	if err != nil {
		return err
	}
	return within(ctx, permit, fn)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out where
// there are too few permits. ran tells whether fn ran; see [redlatch.TryDo].
func (s *Semaphore) TryDo(ctx context.Context, n int64, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	acquire := s.TryAcquire
	if rootapi.Waits(opts) {
		acquire = s.Acquire
	}
	permit, err := acquire(ctx, n, opts...)
	if err != nil {
		return false, rootapi.NotBusy(ctx, err)
	}
	return true, within(ctx, permit, fn)
}

// within runs fn with the permits' context and gives them back.
func within(ctx context.Context, permit *Permit, fn func(ctx context.Context) error) (err error) {
	defer func() { err = rootapi.Joined(err, permit.Release(ctx)) }()
	return fn(permit.Context(ctx))
}

func (s *Semaphore) acquire(ctx context.Context, call string, n int64, takes settings.Option, opts []redlatch.Option,
	try bool) (*Permit, error) {
	set, err := s.made().Resolve(call, takes, opts)
	switch {
	case err != nil:
		return nil, err
	case n < 0 || n > script.MaxIDs:
		return nil, errs.Wrong("%s(%d): the number of permits is from 0 to %d; package semaphore has permits without ids",
			call, n, script.MaxIDs)
	case set.NoExpiry && set.MaxHold > 0:
		return nil, errs.Wrong("WithoutExpiry and WithMaxHold contradict each other; leave one of them out")
	case n == 0:
		return newPermit(newGrant(s, set, nil)), nil
	}
	if err = s.made().CheckSize(call, n); err != nil {
		return nil, err
	}
	a := &asking{semaphore: s, set: set, n: n}
	if err = s.made().Acquire(ctx, set, n, a, try); err != nil {
		return nil, err
	}
	return a.got, nil
}
