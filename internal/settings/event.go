package settings

import (
	"context"
	"sync/atomic"
	"time"
)

// The kinds of Event.
const (
	Waiting   = "waiting"
	Acquired  = "acquired"
	Refused   = "refused"
	Opened    = "opened"
	Released  = "released"
	Lost      = "lost"
	Forgotten = "forgotten"
	Left      = "left"
	Counted   = "counted"
	Renewed   = "renewed"
	Settled   = "settled"
	Asked     = "asked"
	WaitsLong = "slow_wait"
	HeldLong  = "long_hold"
)

// The outcomes of waits and renewals.
const (
	OutcomeAcquired    = "acquired"
	OutcomeReentered   = "reentered"
	OutcomeBusy        = "busy"
	OutcomeTimeout     = "timeout"
	OutcomeCanceled    = "canceled"
	OutcomeUnavailable = "unavailable"
	OutcomeError       = "error"
	OutcomeRenewed     = "renewed"
)

// The paths of what was acquired.
const (
	Fresh     = "fresh"
	Local     = "local"
	Confirmed = "confirmed"
	Remote    = "remote"
)

// An Event is what an observer is told; the root package has the documented form of it.
type Event struct {
	Kind      string
	Primitive string
	Name      string
	Owner     string
	Token     int64
	Permits   int64
	Reentry   bool
	Outcome   string
	Path      string
	Reason    string
	Duration  time.Duration
	Err       error
	Who, Why  string
	Holders   any // nil, or a []redlatch.HeldBy, a type that this package cannot name
	Left      int64
}

// An Observer is told; the root package has the documented form of it.
type Observer interface {
	WaitStart(ctx context.Context, e Event) context.Context
	WaitEnd(ctx context.Context, e Event)
	Observe(ctx context.Context, e Event)
}

var usual atomic.Pointer[Observer]

// SetDefault makes o the observer of all that has none of its own; nil: there is none.
func SetDefault(o Observer) {
	if o == nil {
		usual.Store(nil)
		return
	}
	usual.Store(&o)
}

// Default is the observer of SetDefault, nil if there is none.
func Default() Observer {
	if o := usual.Load(); o != nil {
		return *o
	}
	return nil
}

// Listener is the observer that is to be told now, nil if there is none.
func (s *Settings) Listener() Observer {
	if s.Observer != nil || s.Unobserved {
		return s.Observer
	}
	return Default()
}
