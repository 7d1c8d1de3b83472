package redlatch

import (
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// An Option changes how a primitive works. Given to New it is the default of all calls; given to a call it is
// for that call alone, and overrides the default; WithNameMapper and WithPermits are for New alone. An option
// that does not apply, or a value that makes no sense, is reported by the call as ErrInvalid before anything
// is sent. A nil Option changes nothing.
//
// What is off by default is turned on by a With option, and what is on by default is turned off by a Without
// option. A switch takes a bool only where both of its values differ from the default.
//
// Every primitive takes WithPoll, WithOutage, WithReleaseTimeout, WithSlowWait, WithLogger and WithObserver,
// and where it has holds WithLongHold. Its New takes WithNameMapper too. Of the other options each New says
// which it takes. What counts for all that uses a client is a [ClientOption], for [Configure]. What one
// primitive alone takes is in its package: fairlock.WithPatience, fencedlock.WithClockTokens,
// rwlock.WithWriterPreference, redlock.WithNodeTimeout, spinlock.WithBackOff, permitsemaphore.WithoutExpiry,
// and WithPermits of both semaphores.
type Option interface {
	change(s *settings.Settings)
}

// An option is an Option as the functions of this file make it.
type option func(*settings.Settings)

func (o option) change(s *settings.Settings) { o(s) }

func init() {
	rootapi.NewOption = func(change func(*settings.Settings)) any { return option(change) }
	rootapi.Change = func(o any, s *settings.Settings) {
		if o, ok := o.(Option); ok {
			o.change(s)
		}
	}
}

// given is an option that only some primitives or calls take.
func given(o settings.Option, change func(*settings.Settings)) Option {
	return option(func(s *settings.Settings) {
		change(s)
		s.Give(o)
	})
}

// atLeast is an option whose time d makes no sense below a certain one. why follows in the error's text.
func atLeast(least time.Duration, name string, d time.Duration, why string, o Option) Option {
	return option(func(s *settings.Settings) {
		if d < least {
			s.Fail("%s(%v): at least %v%s", name, d, least, why)
		}
		o.change(s)
	})
}

// WithLease makes the hold last for d and no longer: it is not renewed. Without it the watchdog keeps the
// lock.
//
// A re-entry shares the lock with the hold that it was made within, and each of them ends with its own lease:
// one with WithLease is over when d is, although another is renewed, and one that is renewed does not prolong
// it. The lock stays taken for as long as it is promised to any of them.
func WithLease(d time.Duration) Option {
	return atLeast(settings.MinLease, "WithLease", d, "; leave it out to have the watchdog keep the lock",
		given(settings.Lease, func(s *settings.Settings) { s.Lease, s.NoExpiry = d, false }))
}

// WithMaxHold ends the hold after d at the latest, renewed or not: a limit for work that hangs. The hold's
// contexts end then, and no lease lasts longer. On a first acquisition it also ends the re-entries made
// within the hold, which are part of its work. On a re-entry it ends that hold alone: the lock stays held for
// the other holds.
func WithMaxHold(d time.Duration) Option {
	return atLeast(settings.MinLease, "WithMaxHold", d, "", given(settings.MaxHold, func(s *settings.Settings) {
		s.MaxHold = d.Truncate(time.Millisecond) // Redis' resolution; a lease that is rounded up would reach further
	}))
}

// WithAtLeast keeps the lock taken for at least d after it was acquired: a job that is over in a moment is
// then not run once more by a machine whose clock is a little behind. An Unlock before that ends the hold and
// its contexts at once and returns, and the lock is freed when d has passed. If the process ends meanwhile,
// the lock stays taken for about as long, or for what is left of its lease if that is longer. ForceUnlock
// frees it at once. The time counts from the first acquisition; a re-entry's own is not looked at. Neither
// [WithLease] nor [WithMaxHold] may be shorter.
func WithAtLeast(d time.Duration) Option {
	return atLeast(settings.MinLease, "WithAtLeast", d, "",
		given(settings.AtLeast, func(s *settings.Settings) { s.AtLeast = d }))
}

// WithWait limits the wait, and only the wait, to d. If the time is over, the error matches
// context.DeadlineExceeded, and ErrNotAcquired if the last answer was a refusal, ErrUnavailable if the last
// attempt failed. With d of 0 or less the call asks once and says what a Try method says, so time.Until of a
// deadline is safe.
func WithWait(d time.Duration) Option {
	return given(settings.Wait, func(s *settings.Settings) {
		s.Wait, s.Once = max(d, 0), d <= 0
	})
}

// WithWatchdogTimeout sets the lease that the watchdog asks for; it renews it every third of that time. The
// default is 30 s, as in Redisson. A shorter one frees the lock of a crashed process sooner and asks Redis
// more often.
//
// An rlock or a fencedlock that another process passes to a waiter here begins with a lease of 10 s, whatever
// d is, and has d from its first renewal on, about a third of that later. To a waiter whose d is below 10 s a
// lock is never passed.
func WithWatchdogTimeout(d time.Duration) Option {
	return atLeast(settings.MinWatchdogTimeout, "WithWatchdogTimeout", d, ", so that three renewals fit in",
		given(settings.WatchdogTimeout, func(s *settings.Settings) { s.WatchdogTimeout = d }))
}

// WithPoll sets how long a waiter sleeps at most before it asks again, whatever happens to the wake-up
// messages. The default is 3 s.
func WithPoll(d time.Duration) Option {
	return atLeast(settings.MinPoll, "WithPoll", d, "", option(func(s *settings.Settings) { s.Poll = d }))
}

// WithOutage sets how long an operation keeps trying while the server cannot execute its commands, before it
// returns the server's error: 10 s by default, 2 s for Try methods. ctx may end it sooner. An operation of a
// semaphore or latch that may have been executed is not sent again after a minute, because the server does
// not remember it much longer.
func WithOutage(d time.Duration) Option {
	return option(func(s *settings.Settings) {
		if d <= 0 {
			s.Fail("WithOutage(%v): the time is positive", d)
		}
		s.Outage = d
	})
}

// WithReleaseTimeout sets how long Unlock, Release and CountDown wait for the server. The default is 5 s.
// What has not been confirmed by then is repeated in the background.
func WithReleaseTimeout(d time.Duration) Option {
	return atLeast(time.Millisecond, "WithReleaseTimeout", d, "",
		option(func(s *settings.Settings) { s.ReleaseTimeout = d }))
}

// WithReplicas makes an acquisition succeed only if n replicas acknowledge it within timeout; otherwise it is
// undone and the error is ErrNotReplicated. It narrows the gap in which a failover loses the lock, and costs
// the replicas' round trip. A re-entry asks no replicas: they have the lock by the first acquisition, if that
// asked for them. The timeout must be shorter than the client's read timeout.
func WithReplicas(n int, timeout time.Duration) Option {
	return given(settings.Replicas, func(s *settings.Settings) {
		if n < 1 {
			s.Fail("WithReplicas(%d, ...): at least one replica; leave the option out to wait for none", n)
		}
		if timeout < time.Millisecond {
			s.Fail("WithReplicas(..., %v): the timeout is at least a millisecond", timeout)
		}
		s.Replicas, s.ReplicaTimeout = n, timeout
	})
}

// WithTTL makes a semaphore or latch that is set up by this call disappear after d. Later operations do not
// change the remaining time.
func WithTTL(d time.Duration) Option {
	return atLeast(time.Millisecond, "WithTTL", d, "; leave it out for no limit",
		given(settings.TTL, func(s *settings.Settings) { s.TTL = d }))
}

// WithoutLocalHandOff has Redis confirm every acquisition by a command. By default the goroutines of one
// process hand a contended lock on to one another without a command, for a few milliseconds in a row, in
// which no other process could have had it. If the lock is taken away in those milliseconds, by a
// force-unlock or a deletion, it may still be handed to the next goroutine: docs/guarantees.md says for how
// long. Where that matters more than speed, turn it off. The environment variable REDLATCH_LOCAL_HANDOFF=off
// does so for a whole process.
func WithoutLocalHandOff() Option {
	return given(settings.LocalHandOff, func(s *settings.Settings) {
		s.Scripted = true
	})
}

// WithNameMapper passes every name through fn before it becomes a key, as Redisson's NameMapper does; use the
// same mapping on both sides if they share objects. It is an option of New alone.
func WithNameMapper(fn func(name string) string) Option {
	return given(settings.NameMapper, func(s *settings.Settings) {
		s.Map = fn
	})
}

// WithSlowWait tells, while a call waits for longer than d, who holds what it waits for: by an
// [EventSlowWait] to the observer, and by a line to [WithLogger]. Each wait is told of once at most, and each
// name of a client once a minute: of several waits that are slow the others are told of in the minutes after,
// if they still last. Without an observer and a logger nothing is asked. The default, and 0, is none.
//
// When the time is over Redis is asked who holds it, and the registry which host and process that is, where
// the holder's client is in it (see [WithLabel]). That is one short command, and one more for each holder, of
// at most eight, and it is given up after a second; of a composite each member is asked. The call does not
// wait for it, and no error of it is the call's. A wait that ends before the answer is not told of. The ids
// of permits do not say whose they are, and a plain semaphore and a latch have no holders; of these the
// number is told that is left. Each call costs a timer beside what an observer costs.
//
// A client asks ten times in a minute, and writes ten lines, however many names have slow waits. The minute
// begins with the first of these. The observer is told of each of the others too, without Holders, and Err
// says that Redis was not asked. When the minute is over, one more line says how many names that were.
func WithSlowWait(d time.Duration) Option {
	return option(func(s *settings.Settings) {
		if d < 0 {
			s.Fail("WithSlowWait(%v): zero or more; 0 for none", d)
		}
		s.SlowWait = d
	})
}

// WithLongHold tells, while a hold of this process is held for longer than d, that it is, and where in the
// program it was acquired: by an [EventLongHold] to the observer, and by a line to [WithLogger], which has
// the place. Each hold is told of once at most, and each name of a client once a minute, as with
// [WithSlowWait]; a client writes ten lines in a minute, and one about the others, as there. Nothing happens
// to the hold: [WithMaxHold] ends one. Redis is not asked. The default, and 0, is none.
//
// Each hold costs a timer and the noting of its place. That is little beside a command, and about half as
// much as a hand-off within the process: docs/performance.md has the figures.
func WithLongHold(d time.Duration) Option {
	return given(settings.LongHold, func(s *settings.Settings) {
		if d < 0 {
			s.Fail("WithLongHold(%v): zero or more; 0 for none", d)
		}
		s.LongHold = d
	})
}

// WithLogger sets where losses and failures in the background are logged. By default nothing is logged,
// except that a Hold was dropped without Unlock, and what an observer has panicked with, which go to
// slog.Default.
//
// What its handler panics with goes to standard error, with the text of the line, and nowhere else: most
// lines are written by goroutines where no program could recover, or in the middle of a release.
func WithLogger(l *slog.Logger) Option {
	l = raise.Logger(l)
	return option(func(s *settings.Settings) { s.Logger = l })
}
