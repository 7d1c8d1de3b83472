package redlatch

import "time"

// EventKind is the kind of an Event.
type EventKind int

// What an observer is told. The numbers are those of package settings, which a test compares.
const (
	EventAcquired  EventKind = iota + 1 // a hold was acquired, first or by re-entry; Duration is how long it took
	EventRefused                        // a wait or a try ended without the lock; Err says why
	EventReleased                       // a hold was given back; Duration is how long it was held
	EventLost                           // a hold was lost; Err is a *LossError
	EventForgotten                      // a hold became unreachable without Unlock
	EventLeft                           // a hold was left to its lease by Leave; Duration is how long it was held
	EventSettled                        // an operation of unknown outcome was settled; Duration is how long that took
)

// String returns the kind in one word.
func (k EventKind) String() string {
	if k < EventAcquired || k > EventSettled {
		return "unknown"
	}
	return [...]string{"acquired", "refused", "released", "lost", "forgotten", "left", "settled"}[k-1]
}

// An Event is something that happened to one primitive, for metrics and traces.
//
// Each EventAcquired of a hold of a lock, or of a Permit, is followed by exactly one EventReleased, EventLost,
// EventForgotten or EventLeft of the same, sent to the same observer. So a gauge by Primitive and Name that goes up with
// the one and down with the others counts the holds, and never goes below zero. A gauge that leaves out the events with
// Reentry counts the first holds. A hold that was lost sends nothing more when it is unlocked; one that its Unlock finds
// lost sends EventLost. A Permit with a lease of its own that is dropped sends EventLeft, for its ids may be in use.
//
// A plain semaphore has no holds: it tells of acquisitions only, and of no release.
type Event struct {
	Kind      EventKind
	Primitive string // what it happened to, as errors call it: "lock", "read lock", "semaphore"
	Name      string // of the primitive
	Owner     string // the holder's identity, where there is one
	Reentry   bool   // the hold was acquired within another one of its lock, by the same owner; also in the event of its end
	Duration  time.Duration
	Err       error
}
