package locking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/errs"
)

// Explain is the error of an acquisition as the program gets it: a refusal, a failure of the server or the
// network, or the end of ctx with whichever of the two was the last that is known.
func Explain(ctx context.Context, b *baselock.Base, err error) error {
	switch {
	case errors.Is(err, errs.NotAcquired), errors.Is(err, errs.NotReentrant), errors.Is(err, errs.Lost),
		errors.Is(err, errs.Upgrade), errors.Is(err, errs.NotReplicated):
		return err
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return b.Broken(err)
	case errors.Is(err, errs.Unavailable):
		return b.Broken(errs.Ended(ctx, err))
	}
	waited, found := errs.FoundOut(err)
	r, refused := found.(Refusal)
	_, held := b.Session.Cohorts.HeldSince(b.Line)
	if !refused && held && !b.Kind.Side.Shared { // whatever the server says now
		r, refused = -1, true
	}
	var over *redlatch.NotAcquiredError
	switch {
	case refused:
		over = Taken(b, time.Duration(r))
	case errors.Is(found, errs.NotAcquired):
		over = notAcquired(b, 0, found.Error())
	}
	if over != nil {
		over.Waited, over.Cause = waited, errs.Ended(ctx, err)
		return over
	}
	if found == nil {
		found = b.Session.Undialed()
	}
	return errs.WaitOver(ctx, fmt.Sprintf("%s %q", b.Kind.Label.Noun(), b.Name), err, found)
}

// A Refusal is what an attempt found out that was refused: after how long another may succeed, negative if
// that is not known. Its text is made when the wait ends, for most of them are not the last.
type Refusal time.Duration

func (Refusal) Error() string        { return "is taken" }
func (Refusal) Is(target error) bool { return target == errs.NotAcquired }

// Taken is the error of a try that was refused, where remaining is after which time another may succeed.
func Taken(b *baselock.Base, remaining time.Duration) *redlatch.NotAcquiredError {
	return notAcquired(b, remaining, why(b, remaining))
}

// notAcquired is the error of a try that was refused for the reason why, a clause.
func notAcquired(b *baselock.Base, remaining time.Duration, why string) *redlatch.NotAcquiredError {
	if b.Kind.Queued != nil { // that time is the time to ask again
		remaining = 0
	}
	return &redlatch.NotAcquiredError{Name: b.Name, Kind: b.Kind.Label, Left: max(0, remaining), Detail: why}
}

// LeftToOthers is the error of a try for a lock that is free.
func LeftToOthers(b *baselock.Base) error {
	return notAcquired(b, 0, "is left to other processes for a moment")
}

// why says why the lock is refused. A program that waits for a hold of its own process may wait for itself,
// so that is told. A fair lock and the reading side also refuse for the sake of those who wait.
func why(b *baselock.Base, remaining time.Duration) string {
	since, own := b.Session.Cohorts.HeldSince(b.Line)
	why := "is held by somebody else"
	if own {
		why = fmt.Sprintf("is held by this process, for %v by now", time.Since(since).Round(time.Millisecond))
	}
	if b.Kind.Queued != nil || b.Kind.Side.Shared {
		why += ", or others wait for it"
	}
	if b.Kind.Queued == nil && remaining >= 0 {
		why += fmt.Sprintf(", for another %v unless renewed", remaining)
	}
	switch {
	case own && b.Kind.Reentrant:
		why += "; the context of that hold re-enters"
	case own:
		why += "; it is not reentrant"
	}
	return why
}

// KnownTaken tells whether this process knows that the lock is taken: by a hold of its own, or because its
// waiters were refused.
func KnownTaken(b *baselock.Base) bool {
	_, held := b.Session.Cohorts.HeldSince(b.Line)
	return held || errors.Is(b.Session.Found(b.Line), errs.NotAcquired)
}
