package redlatch

import (
	"time"

	"github.com/redlatch/redlatch/internal/settings"
)

// EventKind is the kind of an Event.
type EventKind int

// What an observer is told.
const (
	EventAcquired  EventKind = settings.Acquired  // a hold was acquired, first or by re-entry; Duration is how long it took
	EventRefused   EventKind = settings.Refused   // a wait or a try ended without the lock; Err says why
	EventReleased  EventKind = settings.Released  // a hold was given back; Duration is how long it was held
	EventLost      EventKind = settings.Lost      // a hold was lost; Err is a *LossError
	EventForgotten EventKind = settings.Forgotten // a hold became unreachable without Unlock
	EventLeft      EventKind = settings.Left      // a hold was left to its lease by Leave; Duration is how long it was held
	EventSettled   EventKind = settings.Settled   // an operation of unknown outcome was settled; Duration is how long that took
)

// String returns the kind in one word.
func (k EventKind) String() string {
	if k < EventAcquired || k > EventSettled {
		return "unknown"
	}
	return [...]string{"acquired", "refused", "released", "lost", "forgotten", "left", "settled"}[k-1]
}

// An Event is something that happened to one primitive, for metrics and traces.
type Event struct {
	Kind      EventKind
	Primitive string // what it happened to, as errors call it: "lock", "read lock", "semaphore"
	Name      string // of the primitive
	Owner     string // the holder's identity, where there is one
	Reentry   bool   // the hold was acquired within another one of its lock, by the same owner; also in the event of its end
	Duration  time.Duration
	Err       error
}
