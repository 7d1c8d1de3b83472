package redlatch

import "github.com/redlatch/redlatch/internal/errs"

// The errors that a program tells apart with errors.Is. An error may match several: a wait that ctx ended matches
// ErrNotAcquired and context.Canceled. Anything that matches none of them is the server's or the network's own error,
// passed on.
var (
	// ErrNotAcquired: somebody else has it, and the wait, if there was one, is over.
	ErrNotAcquired = errs.NotAcquired

	// ErrLost: the lock was held and no longer is, or can no longer be trusted to be. As a *LossError it says when and
	// why.
	ErrLost = errs.Lost

	// ErrReleased: this hold was given back before.
	ErrReleased = errs.Released

	// ErrNotHeld: what is to be given back or extended is not held, or no longer.
	ErrNotHeld = errs.NotHeld

	// ErrUpgrade: the write side was asked for with a context that carries a hold of the read side. Waiting would never
	// end.
	ErrUpgrade = errs.Upgrade

	// ErrNotReentrant: a non-reentrant lock was asked for with a context that carries a hold of it. Waiting would never
	// end.
	ErrNotReentrant = errs.NotReentrant

	// ErrNotReplicated: fewer replicas than WithReplicas asked for acknowledged in time. The acquisition was undone.
	ErrNotReplicated = errs.NotReplicated

	// ErrUncertain: whether the operation took effect could not be found out in time. It is settled in the background.
	ErrUncertain = errs.Uncertain

	// ErrStale: a write came with a fencing token that is older than one its guard has seen. It was not made.
	ErrStale = errs.Stale

	// ErrInvalid: an argument or a combination of options that makes no sense; the text says what to do. Nothing was
	// sent.
	ErrInvalid = errs.Invalid
)
