package redlatch

import (
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/internal/settings"
)

// An Option changes how a primitive works. Given to New it is the default of all calls; given to a call it is for
// that call alone and wins; a few are for New alone. An option that does not apply, or a value that makes no sense, is reported by the call as
// ErrInvalid before anything is sent.
type Option func(*settings.Settings)

// WithLease makes the hold last for d and no longer: it is not renewed. Without it the watchdog keeps the lock.
func WithLease(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < settings.MinLease {
			s.Fail("WithLease(%v): a lease is at least %v; leave it out to have the watchdog keep the lock", d, settings.MinLease)
		}
		s.Lease, s.NoLease = d, false
		s.Give(settings.Lease)
	}
}

// WithNoLease makes permits that never expire, as Redisson's lease of -1 does: nobody renews them, and those of a
// process that dies stay taken until somebody releases them by their ids. By default permits are renewed while their
// process lives.
func WithNoLease() Option {
	return func(s *settings.Settings) {
		s.Lease, s.NoLease = 0, true
		s.Give(settings.NoLease)
	}
}

// WithMaxHold ends the hold at the latest after d, renewed or not: a bound for work that hangs. The hold's contexts
// end then, and no lease reaches further. On a re-entry it ends that hold alone: its holder keeps the lock for the others,
// and for what is left of their lease.
func WithMaxHold(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < settings.MinLease {
			s.Fail("WithMaxHold(%v): the limit is at least %v", d, settings.MinLease)
		}
		s.MaxHold = d
		s.Give(settings.MaxHold)
	}
}

// WithWait bounds the wait, and only the wait, to d. A wait that ends so matches ErrNotAcquired and
// context.DeadlineExceeded.
func WithWait(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d <= 0 {
			s.Fail("WithWait(%v): the wait is positive; use a Try method to ask once", d)
		}
		s.Wait = d
		s.Give(settings.Wait)
	}
}

// WithWatchdogTimeout sets the lease that the watchdog renews, every third of it. The default is 30 s, as in
// Redisson. A shorter one frees the lock of a crashed process sooner and asks Redis more often.
func WithWatchdogTimeout(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < settings.MinWatchdogTimeout {
			s.Fail("WithWatchdogTimeout(%v): at least %v, so that three renewals fit in", d, settings.MinWatchdogTimeout)
		}
		s.WatchdogTimeout = d
		s.Give(settings.WatchdogTimeout)
	}
}

// WithPoll sets how long a waiter sleeps at most before it asks again, whatever becomes of the wake-up messages. The
// default is 3 s.
func WithPoll(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < settings.MinPoll {
			s.Fail("WithPoll(%v): at least %v", d, settings.MinPoll)
		}
		s.Poll = d
	}
}

// WithPatience sets for how long a waiter of a fair lock keeps its place in the queue without a sign of life. The
// default is 15 s. A living waiter gives one every third of it, however long it waits. When the lock is free and the
// process of whoever is next has died, the others wait that long for it, once: a shorter patience lets them go on
// sooner, asks Redis more often, and takes the places of a process that was suspended for longer.
func WithPatience(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < settings.MinPatience {
			s.Fail("WithPatience(%v): at least %v, so that three signs of life fit in", d, settings.MinPatience)
		}
		s.Patience = d
		s.Give(settings.Patience)
	}
}

// WithOutage sets how long an operation goes on trying while the server cannot take its commands, before it returns
// the server's error: 10 s by default, 2 s for Try methods. ctx may end it sooner. An operation of a semaphore or latch that
// may have been executed is not sent again after a minute, for the server does not remember it for much longer.
func WithOutage(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d <= 0 {
			s.Fail("WithOutage(%v): the time is positive", d)
		}
		s.Outage = d
	}
}

// WithReleaseTimeout sets how long Unlock and Release wait for the server. The default is 5 s. What has not been
// confirmed by then is repeated in the background.
func WithReleaseTimeout(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < time.Millisecond {
			s.Fail("WithReleaseTimeout(%v): at least a millisecond", d)
		}
		s.ReleaseTimeout = d
	}
}

// WithReplicas makes an acquisition succeed only if n replicas acknowledge it within timeout; otherwise it is undone
// and the error is ErrNotReplicated. It narrows the gap in which a failover loses the lock, and costs the replicas'
// round trip. The timeout must be shorter than the client's read timeout.
func WithReplicas(n int, timeout time.Duration) Option {
	return func(s *settings.Settings) {
		if n < 1 {
			s.Fail("WithReplicas(%d, ...): at least one replica; leave the option out to wait for none", n)
		}
		if timeout < time.Millisecond {
			s.Fail("WithReplicas(..., %v): the timeout is at least a millisecond", timeout)
		}
		s.Replicas, s.ReplicaTimeout = n, timeout
		s.Give(settings.Replicas)
	}
}

// WithBackOff sets how a waiter of a spin lock polls: it sleeps for initial, then each time for twice as long, up to
// max. Of each such time between a half and the whole is slept, at random, so that waiters do not poll in step. The
// default is 1 ms and 128 ms. A longer max asks Redis less often and notices later that the lock is free.
func WithBackOff(initial, max time.Duration) Option {
	return func(s *settings.Settings) {
		switch {
		case initial < settings.MinBackOff:
			s.Fail("WithBackOff(%v, %v): the initial sleep is at least %v", initial, max, settings.MinBackOff)
		case max < initial:
			s.Fail("WithBackOff(%v, %v): the longest sleep is not shorter than the initial one", initial, max)
		}
		s.BackOff = settings.BackOffPolicy{Initial: initial, Max: max}
		s.Give(settings.BackOff)
	}
}

// WithConstantBackOff makes a waiter of a spin lock sleep for d between two polls, without jitter. A d of 0 stands for
// 64 ms, as in Redisson. Waiters that began together go on polling together; WithBackOff avoids that.
func WithConstantBackOff(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d == 0 {
			d = settings.DefaultConstantBackOff
		}
		if d < settings.MinBackOff {
			s.Fail("WithConstantBackOff(%v): at least %v, or 0 for %v", d, settings.MinBackOff, settings.DefaultConstantBackOff)
		}
		s.BackOff = settings.BackOffPolicy{Initial: d, Max: d, Constant: true}
		s.Give(settings.BackOff)
	}
}

// WithNodeTimeout sets how long one attempt of a redlock waits for one of its servers. The default is a tenth of the
// lease, at least 50 ms and at most 500 ms. What a server that is down or hung costs is at most this, and usually
// nothing, because a quorum is enough. It has to be small beside the lease, and larger than a round trip.
func WithNodeTimeout(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < time.Millisecond {
			s.Fail("WithNodeTimeout(%v): at least a millisecond, and more than a round trip", d)
		}
		s.NodeTimeout = d
		s.Give(settings.NodeTimeout)
	}
}

// WithTTL makes a semaphore or latch that is set up by this call disappear after d. Every later operation keeps the
// remaining time.
func WithTTL(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < time.Millisecond {
			s.Fail("WithTTL(%v): at least a millisecond; leave it out for no limit", d)
		}
		s.TTL = d
		s.Give(settings.TTL)
	}
}

// WithWriterPreference makes a writer of a read-write lock that waits keep new readers out, so that overlapping readers
// of many processes cannot keep it waiting for ever. It announces itself beside the lock, where Redisson does not look:
// readers of this library stand back, whether they have this option or not, and Java readers do not. Readers who hold
// the lock may re-enter it. Without the option a waiting writer keeps out only the new readers of its own process. The
// announcement of a writer whose process died is over after twice its poll interval ([WithPoll]).
func WithWriterPreference() Option {
	return func(s *settings.Settings) {
		s.PreferWriters = true
		s.Give(settings.WriterPreference)
	}
}

// WithNameMapper passes every name through fn before it becomes a key, as Redisson's NameMapper does: give it the
// same mapping when both share objects.
func WithNameMapper(fn func(name string) string) Option {
	return func(s *settings.Settings) {
		s.Map = fn
		s.Give(settings.NameMapper)
	}
}

// WithCluster says that the client is a cluster client although its type does not show it.
func WithCluster() Option {
	return func(s *settings.Settings) {
		s.Cluster = true
		s.Give(settings.Cluster)
	}
}

// WithShardedPubSub says whether messages on a cluster use SPUBLISH. By default the server is asked, as Redisson
// does; it must be what the other processes use.
func WithShardedPubSub(on bool) Option {
	return func(s *settings.Settings) {
		s.Sharding = settings.ShardingOff
		if on {
			s.Sharding = settings.ShardingOn
		}
		s.Give(settings.ShardedPubSub)
	}
}

// WithLinger sets how long the connection for wake-ups, and the goroutines that the primitives of one client share,
// stay after their last use. The default is 3 s: the next wait then starts without a subscription. The last value
// given counts for all primitives of the client.
func WithLinger(d time.Duration) Option {
	return func(s *settings.Settings) {
		if d < 0 {
			s.Fail("WithLinger(%v): zero or more", d)
		}
		s.Linger, s.LingerSet = d, true
		s.Give(settings.Linger)
	}
}

// WithLogger sets where losses and failures in the background are logged. By default nothing is, but for a Hold that
// was dropped without Unlock, which goes to slog.Default.
func WithLogger(l *slog.Logger) Option {
	return func(s *settings.Settings) { s.Logger = l }
}

// WithObserver calls fn for every Event, on the goroutine that caused it: fn must be quick and must not lock.
func WithObserver(fn func(Event)) Option {
	return func(s *settings.Settings) {
		if fn == nil {
			s.Observe = nil
			return
		}
		s.Observe = func(e settings.Event) {
			fn(Event{Kind: EventKind(e.Kind), Name: e.Name, Owner: e.Owner, Duration: e.Duration, Err: e.Err})
		}
	}
}
