package redlatch

import "time"

// An EventKind is what has happened, in a word that suits as a label. Later versions may have more: an
// observer passes over what it does not know.
type EventKind string

// What an observer is told.
const (
	EventWaiting EventKind = "waiting" // a call begins to wait for something: of WaitStart alone
	// the wait is over: a hold, or permits, were acquired. Duration is how long that took
	EventAcquired EventKind = "acquired"
	// the wait is over, with nothing acquired; Err says why, Duration how long it took
	EventRefused   EventKind = "refused"
	EventOpened    EventKind = "opened"    // the wait is over: the latch is open
	EventReleased  EventKind = "released"  // a hold, or permits, were given back; Duration is how long a hold was held
	EventLost      EventKind = "lost"      // a hold was lost; Err is a *LossError, and Duration how long it was held
	EventForgotten EventKind = "forgotten" // a hold became unreachable without Unlock; Duration is how long it was held
	// a hold, or permits, were left to their lease by Leave; Duration is how long it was held
	EventLeft    EventKind = "left"
	EventCounted EventKind = "counted" // CountDown took one from the count of a latch
	// a renewal of a hold, or a look at one that is not renewed, was answered, or failed with Err
	EventRenewed EventKind = "renewed"
	EventSettled EventKind = "settled" // an operation of unknown outcome was settled; Duration is how long that took
	EventAsked   EventKind = "asked"   // the program is asked to give a hold or a Permit back; Event.Who says by whom
	// a call has waited for longer than WithSlowWait says, and waits on; Holders says for whom
	EventSlowWait EventKind = "slow_wait"
	// a hold is held for longer than WithLongHold says, and goes on; Duration is for how long by now
	EventLongHold EventKind = "long_hold"
)

// An Outcome is how a wait or a renewal has ended, in a word that suits as a label. Later versions may have
// more.
type Outcome string

// The outcomes. The last one is of renewals alone.
const (
	OutcomeAcquired    Outcome = "acquired"    // the call has got what it wanted, or the latch is open
	OutcomeReentered   Outcome = "reentered"   // it has taken once more a lock that its context carries
	OutcomeBusy        Outcome = "busy"        // refused, by a call that asks once
	OutcomeTimeout     Outcome = "timeout"     // the time of the wait was over
	OutcomeCanceled    Outcome = "canceled"    // its context was cancelled
	OutcomeUnavailable Outcome = "unavailable" // the server or the network failed
	OutcomeError       Outcome = "error"       // anything else, a panic too
	OutcomeRenewed     Outcome = "renewed"     // the renewal has prolonged the lease
)

// A Path is how something acquired came to its holder, in a word that suits as a label. Later versions may
// have more. With [WithoutLocalHandOff] none is PathLocal.
type Path string

// The paths.
const (
	PathFresh     Path = "fresh"     // Redis has granted it to the call
	PathLocal     Path = "local"     // a holder of this process has handed it on, or shares it, without a command
	PathConfirmed Path = "confirmed" // a holder of this process has handed it on by a command, which Redis has confirmed
	PathRemote    Path = "remote"    // a release has passed it on by a message, as between processes
)

// An Event is something that happened to one primitive, for metrics and traces.
//
// Each EventAcquired of a hold of a lock, or of a Permit, is followed by exactly one EventReleased,
// EventLost, EventForgotten or EventLeft of the same, sent to the same observer. So a gauge by Primitive and
// Name that goes up with the one and down with the others counts the holds, and never goes below zero. A
// gauge that leaves out the events with Reentry counts the first holds. A hold that was lost sends nothing
// more when it is unlocked; one that its Unlock finds lost sends EventLost. A Permit with a lease of its own
// that is dropped sends EventLeft, for its ids may be in use.
//
// EventAsked says that a person or a program asks for the hold to be given back. The hold lasts, and the
// caller of fleet.Holder.Ask waits to see whether it is given back. A program that can end its work early
// does so, for example by ending the context of that work, and unlocks. The event comes with a report to the
// registry: within about six seconds where there are at most 5000 clients, and on a goroutine of the library.
// A hold of several locks gets the event when one of these is asked for.
//
// A plain semaphore has no holds. A gauge that goes up by Permits with EventAcquired and down by Permits with
// EventReleased shows how many permits this process has, if it releases as many as it acquires; the releases
// go to the observer of New. The gauge goes below zero where a program releases what another one has
// acquired, or what DrainPermits has taken, of which no event tells. An EventReleased has an Err only where
// the outcome is in doubt; the release is carried through then. One that fails otherwise has released
// nothing, and is not told.
type Event struct {
	Kind      EventKind
	Primitive Kind   // what it happened to: "lock", "read_lock", "semaphore"
	Name      string // of the primitive
	Owner     string // the holder's identity, where there is one
	Token     int64  // of a fenced lock: the token of the acquisition; also in the event of its end
	// of a semaphore: how many are wanted, acquired or released; of a Permit in all of its events as many as
	// were acquired
	Permits int64
	// the hold was acquired within another one of its lock, by the same owner; also in the event of its end
	Reentry  bool
	Outcome  Outcome    // of what ends a wait, and of EventRenewed
	Path     Path       // of EventAcquired
	Reason   LossReason // of EventLost
	Duration time.Duration
	// also of EventSlowWait, if it is not known who holds it: a question to Redis or the registry failed, or
	// none was sent
	Err error
	// of EventSlowWait: the holders when Redis was asked, eight at most; empty where it was free, or Redis does
	// not know
	Holders []HeldBy
	// of EventSlowWait of a semaphore or latch: the permits that were available, the count that was left
	Left int64

	// Of EventAsked: the person or program that asks, and why. They are the texts that the caller of
	// fleet.Holder.Ask gave. Each is one line that can be printed, of at most 64 and 256 bytes. Nothing
	// proves them: any program that may write to Redis can ask under any name.
	Who, Why string
}
