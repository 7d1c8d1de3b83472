// Package semaphore is a counting semaphore that processes share by name, compatible with Redisson's
// RSemaphore.
//
//	pool := semaphore.New(rdb, "crawler", semaphore.WithPermits(8))
//	err := pool.Do(ctx, 1, func(ctx context.Context) error { return fetch(ctx, url) })
//
// The semaphore is one number in Redis: how many permits are available. It has no owners. A process that dies
// with permits takes them with it, and nothing stops a program from releasing more than it acquired; package
// permitsemaphore gives permits an identity and a lease. [WithPermits] has the first Acquire set up the
// semaphore, and set it up again after Redis has lost it; without the option TrySetPermits does it, and a
// semaphore that was never set up has no permits.
//
// A permit that is released while a call of the same process waits goes to that call, and Redis hears of
// neither for a few milliseconds: [redlatch.WithoutLocalHandOff] turns it off.
//
// Waiters of one process are served in their order of arrival, as with golang.org/x/sync/semaphore: one that
// asks for many is not overtaken by one that asks for few. Between processes there is no order.
//
// Every operation takes effect once, whatever happens to its messages. If the outcome of one cannot be found
// out in time, its error matches ErrUncertain; it is settled in the background and must not be repeated.
package semaphore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/semaphore"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Semaphore is a number of permits shared by every process that uses the same name on the same Redis. It is
// safe for concurrent use and needs no closing.
type Semaphore struct {
	_ [0]sync.Mutex // so that go vet finds copies

	counter *counter.Counter
}

// New makes a semaphore. It does no I/O: the first Acquire sets up the number of permits that [WithPermits]
// says; without that option TrySetPermits sets it, of any process. New panics if the client is nil or of a
// kind that cannot be used; a bad name or option is reported by the calls. Options: WithPermits, WithWait,
// WithTTL, WithoutLocalHandOff, and those that every primitive takes.
func New(client redlatch.Client, name string, opts ...redlatch.Option) *Semaphore {
	c := counter.New(client, name, redlatch.KindSemaphore, keys.SemaphoreChannel,
		settings.Wait|settings.TTL|settings.LocalHandOff|settings.Permits, opts)
	return &Semaphore{counter: c.WithProcessQueue(keys.SemaphoreRow)}
}

// made is the counter of a semaphore that New has made.
func (s *Semaphore) made() *counter.Counter {
	return errs.Made(s.counter, "semaphore.Semaphore is used without New; make it by semaphore.New")
}

// Name returns the name that the semaphore was made with.
func (s *Semaphore) Name() string { return s.made().Name }

// Acquire takes n permits, waiting until there are that many. When ctx ends first, or the time of WithWait is
// over, it takes none, and the error matches the reason. It matches ErrNotAcquired too if the last answer was
// a refusal, and says what was known of the permits, also that the semaphore was never set up. It matches
// ErrUnavailable instead if the last attempt failed, and the reason alone if there was no answer yet. With n
// of 0 it returns at once. While the server fails it goes on for as long as [redlatch.WithOutage] says.
func (s *Semaphore) Acquire(ctx context.Context, n int64, opts ...redlatch.Option) error {
	return s.acquire(ctx, "Acquire", n, settings.Wait|settings.LocalHandOff, opts, false)
}

// TryAcquire takes n permits if there are that many; otherwise the error matches ErrNotAcquired, and says
// whether there is a semaphore at all. It does not overtake others in this process that wait. With n of 0 it
// returns at once. Options: those of Acquire except WithWait.
func (s *Semaphore) TryAcquire(ctx context.Context, n int64, opts ...redlatch.Option) error {
	return s.acquire(ctx, "TryAcquire", n, settings.LocalHandOff, opts, true)
}

func (s *Semaphore) acquire(ctx context.Context, call string, n int64, takes settings.Option, opts []redlatch.Option,
	try bool) error {
	set, err := s.made().Resolve(call, takes, opts)
	if err != nil {
		return err
	}
	if err := s.made().CheckNumber(call, n); err != nil || n == 0 {
		return err
	}
	if err := s.made().CheckSize(call, n); err != nil {
		return err
	}
	return s.made().Acquire(ctx, set, n, newSeeker(s.made(), n), try)
}

// Release gives back n permits and wakes waiters. It ignores the cancellation of ctx and has a time limit of
// its own ([redlatch.WithReleaseTimeout]); what is in doubt by then is carried through in the background, and
// the error matches ErrUncertain. A semaphore that does not exist is created: the program is trusted not to
// give back what it has not taken. With WithPermits it is not, for the next Acquire creates it with all
// permits. With n of 0 nothing happens.
func (s *Semaphore) Release(ctx context.Context, n int64) error {
	if err := s.made().CheckNumber("Release", n); err != nil || n == 0 {
		return err
	}
	give := script.Release
	if s.sized() {
		give = script.ReleaseIfExists
	}
	rest, fate := s.made().Move(n, nil)
	var err error
	if rest > 0 && fate == counter.Unsure {
		rest, err = s.keep(ctx, rest)
	}
	if rest > 0 && err == nil {
		_, err = counter.GiveBack(ctx, s.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
			return give(s.made().Key, rest, wake, call)
		})
	}
	if err != nil && rest < n && !errors.Is(err, errs.Uncertain) {
		giveBackLater(s.made(), rest) // to repeat it would give back too many
		err = fmt.Errorf("%w: the rest of the permits is given back in the background: %w", errs.Uncertain, err)
	}
	return s.made().GaveBack(ctx, redlatch.EventReleased, n, err)
}

// sized tells whether the semaphore knows its size.
func (s *Semaphore) sized() bool { return s.made().Size != nil }

// keep gives back n permits, unless the calls of this process may have them. rest are still to be given back.
func (s *Semaphore) keep(ctx context.Context, n int64) (rest int64, err error) {
	keep, yield := script.Keep, script.Yield
	if s.sized() {
		keep, yield = script.KeepSized, script.YieldSized
	}
	c := s.made()
	return c.Keep(ctx, n, func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
		return keep(c.Key, n, c.Session.ID, wake, call)
	}, func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
		return yield(c.Key, n, wake, call)
	})
}

// ReleaseIfExists is like Release, but does nothing and returns false when the semaphore does not exist. With
// n of 0 it returns false.
func (s *Semaphore) ReleaseIfExists(ctx context.Context, n int64) (bool, error) {
	if err := s.made().CheckNumber("ReleaseIfExists", n); err != nil || n == 0 {
		return false, err
	}
	released, err := counter.GiveBack(ctx, s.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.ReleaseIfExists(s.made().Key, n, wake, call)
	})
	if released || err != nil {
		err = s.made().GaveBack(ctx, redlatch.EventReleased, n, err)
	}
	return released, err
}

// Do runs fn with n permits and gives them back, also when fn panics or ends its goroutine. The error is
// fn's, joined with Release's. If the permits were not acquired, fn does not run and the error is Acquire's.
func (s *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (err error) {
	if err := s.Acquire(ctx, n, opts...); err != nil {
		return err
	}
	return s.within(ctx, n, fn)
}

// TryDo is Do that asks once, or waits as long as [redlatch.WithWait] says, and leaves the work out where
// there are too few permits. ran tells whether fn ran; see [redlatch.TryDo].
func (s *Semaphore) TryDo(ctx context.Context, n int64, fn func(ctx context.Context) error,
	opts ...redlatch.Option) (ran bool, err error) {
	acquire := s.TryAcquire
	if rootapi.Waits(opts) {
		acquire = s.Acquire
	}
	if err := acquire(ctx, n, opts...); err != nil {
		return false, rootapi.NotBusy(ctx, err)
	}
	return true, s.within(ctx, n, fn)
}

// within runs fn and gives the permits back.
func (s *Semaphore) within(ctx context.Context, n int64, fn func(ctx context.Context) error) (err error) {
	defer func() { err = errors.Join(err, s.Release(ctx, n)) }()
	return fn(ctx)
}
