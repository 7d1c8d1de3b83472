// Package settings is what the options of the root package fill in, and the rules by which they may be
// combined.
package settings

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
)

// The defaults; the options of the root package say what each is for.
const (
	DefaultWatchdogTimeout = 30 * time.Second
	DefaultPoll            = 3 * time.Second
	DefaultOutage          = 10 * time.Second
	DefaultTryOutage       = 2 * time.Second
	DefaultReleaseTimeout  = 5 * time.Second
	DefaultLinger          = 3 * time.Second
	DefaultPatience        = 15 * time.Second

	DefaultBackOffInitial = time.Millisecond
	DefaultBackOffMax     = 128 * time.Millisecond
)

// The least values that make sense: below them Redis' own resolution, or a round trip, would decide.
const (
	MinLease           = time.Millisecond
	MinWatchdogTimeout = 30 * time.Millisecond
	MinPoll            = 50 * time.Millisecond
	MinPatience        = 300 * time.Millisecond
	MinBackOff         = time.Millisecond
)

// An Option is named so that a primitive can say which ones it does not take.
type Option uint32

// The options that only some primitives or calls take.
const (
	Lease Option = 1 << iota
	MaxHold
	Wait
	WatchdogTimeout
	Replicas
	TTL
	Patience
	BackOff
	WriterPreference
	NoExpiry
	NodeTimeout
	AtLeast
	LocalHandOff
	ClockTokens
	LongHold

	// Of New alone: a call comes too late for them.
	Permits
	NameMapper
)

// ofNew are the options that are for New alone.
const ofNew = Permits | NameMapper

var names = map[Option]string{
	Lease: "WithLease", MaxHold: "WithMaxHold", Wait: "WithWait", WatchdogTimeout: "WithWatchdogTimeout",
	Replicas: "WithReplicas", TTL: "WithTTL", Patience: "WithPatience", BackOff: "WithBackOff",
	WriterPreference: "WithWriterPreference", NoExpiry: "WithoutExpiry",
	NodeTimeout: "WithNodeTimeout", AtLeast: "WithAtLeast", LocalHandOff: "WithoutLocalHandOff",
	ClockTokens: "WithClockTokens",
	LongHold:    "WithLongHold", Permits: "WithPermits",
	NameMapper: "WithNameMapper",
}

// owns are the packages that have the option which is for their primitive alone.
var owns = map[Option]string{
	Patience: "fairlock", BackOff: "spinlock", WriterPreference: "rwlock", NoExpiry: "permitsemaphore",
	NodeTimeout: "redlock",
	ClockTokens: "fencedlock", Permits: "semaphore and permitsemaphore",
}

// Settings is the outcome of all options of one primitive or one call.
type Settings struct {
	Lease           time.Duration // 0: the watchdog keeps the lock
	NoExpiry        bool          // permits that never expire; Lease is 0 then
	MaxHold         time.Duration // 0: no limit
	AtLeast         time.Duration // 0: free as soon as it is given back
	Wait            time.Duration // 0: only ctx bounds the wait
	Once            bool          // a wait of no time: ask once
	WatchdogTimeout time.Duration
	Poll            time.Duration
	Outage          time.Duration // 0: the default of the operation
	ReleaseTimeout  time.Duration
	Patience        time.Duration // fair locks
	TTL             time.Duration // of a counter's key; 0: none
	Permits         int64         // of a semaphore, when it is set up; 0: it is not set up by those who acquire
	NodeTimeout     time.Duration // of one server of a redlock; 0: by the lease
	Replicas        int
	ReplicaTimeout  time.Duration
	PreferWriters   bool
	Linger          time.Duration // of the client, for a test whose clients are brief: a program has it from Configure
	LingerSet       bool
	Scripted        bool                     // the lock is never handed on without a command
	ClockTokens     bool                     // of a fenced lock: none is below the server's time in microseconds
	Hashed          bool                     // of a group: the values are given by the names that they have in Redis
	Map             func(name string) string // nil: identity
	// of a spin lock: how long it sleeps before the n-th question; nil: the default
	BackOff    func(n int64) time.Duration
	Logger     *slog.Logger  // nil: silent
	Observer   any           // a redlatch.Observer, a type that this package cannot name; nil: the default one
	SlowWait   time.Duration // 0: no wait is told of for its length
	LongHold   time.Duration // 0: no hold is
	Unobserved bool          // not even the default one is told
	Unreported bool          // the registry is told of the wait by another cohort, that of a redlock
	// nil; else a composite wants to know what the lock stands on, and takes nothing
	Meet      func(base any)
	Recognize func(is func(hold any) bool) // nil; else a caller wants to know its own holds, and takes nothing

	given Option
	call  bool  // these are the settings of one call
	err   error // the first option that made no sense
}

// Defaults are the settings before any option.
func Defaults() Settings {
	return Settings{
		WatchdogTimeout: DefaultWatchdogTimeout,
		Poll:            DefaultPoll,
		ReleaseTimeout:  DefaultReleaseTimeout,
		Patience:        DefaultPatience,
		Scripted:        os.Getenv("REDLATCH_LOCAL_HANDOFF") == "off",
	}
}

// Give notes that an option was used.
func (s *Settings) Give(o Option) { s.given |= o }

// Given tells whether o was used, in New or in the call.
func (s *Settings) Given(o Option) bool { return s.given&o != 0 }

// Withhold makes Given forget an option. A composite does so with what it sees to itself, before its members
// look.
func (s *Settings) Withhold(o Option) { s.given &^= o }

// ForCall is a copy of the defaults to which a call's options are added: what Given and Check then speak of
// is the call's alone.
func (s *Settings) ForCall() Settings {
	call := *s
	call.given, call.call = 0, true
	return call
}

// Fail notes that an option made no sense; the first one is reported.
func (s *Settings) Fail(format string, args ...any) {
	if s.err == nil {
		s.err = errs.Wrong(format, args...)
	}
}

// Check reports the first option that made no sense, or that is not among those taken.
func (s *Settings) Check(kind string, taken Option) error {
	if s.err != nil {
		return s.err
	}
	if stray := s.given &^ taken &^ NameMapper; stray != 0 {
		first := Option(1) << bits.TrailingZeros32(uint32(stray))
		if owner := owns[first]; owner != "" {
			return errs.Wrong("%s is for %s and does not apply to %s; leave it out", names[first], owner, kind)
		}
		return errs.Wrong("%s does not apply to %s; leave it out", names[first], kind)
	}
	if late := s.given & ofNew; s.call && late != 0 {
		return errs.Wrong("%s is an option of New and counts for all calls; give it there", names[late&-late])
	}
	return nil
}

// MaxPermits is the largest number of permits that a semaphore is set to, and that one operation carries:
// Redisson keeps them in 32 bits.
const MaxPermits = 1<<31 - 1

// SetUp has a semaphore that is missing be set to n permits.
func (s *Settings) SetUp(n int64) {
	if n < 1 || n > MaxPermits {
		s.Fail("WithPermits(%d): the number of permits is from 1 to %d", n, MaxPermits)
	}
	s.Give(Permits)
	s.Permits = n
}

// OutageFor is how long an operation tries on while the server cannot take its commands.
func (s *Settings) OutageFor(try bool) time.Duration {
	switch {
	case s.Outage > 0:
		return s.Outage
	case try:
		return DefaultTryOutage
	default:
		return DefaultOutage
	}
}

// Waiting is ctx for a call, which waits no longer than WithWait says. A try does not wait.
func (s *Settings) Waiting(ctx context.Context, try bool) (context.Context, context.CancelFunc) {
	if s.Wait == 0 || try {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.Wait, waited(s.Wait))
}

// waited is the cause of the end of a call's context, which tells it from a deadline of the program's.
type waited time.Duration

func (w waited) Error() string { return fmt.Sprintf("the wait of %v is over", time.Duration(w)) }

// FirstLease is the TTL that an acquisition asks for.
func (s *Settings) FirstLease() time.Duration {
	lease := s.WatchdogTimeout
	if s.Lease > 0 {
		lease = s.Lease
	}
	if s.MaxHold > 0 {
		lease = min(lease, s.MaxHold)
	}
	return lease
}
