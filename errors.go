package redlatch

import "github.com/redlatch/redlatch/internal/errs"

// The errors that a program tells apart with errors.Is. An error may match several: a wait that ctx ended
// matches the error of ctx, and ErrNotAcquired or ErrUnavailable if the last answer was a refusal or the last
// attempt failed. If there was no answer yet, it matches the error of ctx alone.
var (
	// ErrNotAcquired: Redis, or the queue of this process, has said that the lock is taken, that there are too
	// few permits, or that the latch is closed; and the wait, if there was one, is over. An outage never matches
	// it.
	ErrNotAcquired = errs.NotAcquired

	// ErrUnavailable: the server or the network failed, so nothing is known about the lock. The error also
	// matches what they said. Where the operation may have taken effect it matches ErrUncertain too.
	ErrUnavailable = errs.Unavailable

	// ErrLost: the lock was held and no longer is, or can no longer be trusted to be. As a *LossError it says
	// when and why.
	ErrLost = errs.Lost

	// ErrReleased: this hold was given back before.
	ErrReleased = errs.Released

	// ErrNotHeld: what is to be given back or extended is not held, or no longer.
	ErrNotHeld = errs.NotHeld

	// ErrUpgrade: the write side was asked for with a context that carries a hold of the read side. Waiting
	// would never end.
	ErrUpgrade = errs.Upgrade

	// ErrNotReentrant: a non-reentrant lock was asked for with a context that carries a hold of it, or a group
	// lock with one that carries a hold of some of its values. Waiting would never end.
	ErrNotReentrant = errs.NotReentrant

	// ErrNotReplicated: fewer replicas than WithReplicas asked for acknowledged in time. The acquisition was
	// undone.
	ErrNotReplicated = errs.NotReplicated

	// ErrUncertain: whether the operation took effect could not be found out in time. It is settled in the
	// background.
	ErrUncertain = errs.Uncertain

	// ErrStale: a write came with a fencing token that is older than one its guard has seen, or that the guard
	// has seen from another owner. It was not made.
	ErrStale = errs.Stale

	// ErrInvalid: an argument or a combination of options that makes no sense, or a name under which Redis keeps
	// something else; the text says what to do. Nothing was changed.
	ErrInvalid = errs.Invalid
)
