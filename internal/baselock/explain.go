package baselock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
)

// explain is the error of an acquisition as the program gets it: a refusal, a failure of the server or the
// network, or the end of ctx with whichever of the two was the last that is known.
func (b *Base) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errs.NotAcquired), errors.Is(err, errs.NotReentrant), errors.Is(err, errs.Lost),
		errors.Is(err, errs.Upgrade), errors.Is(err, errs.NotReplicated):
		return err
	case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return b.broken(err)
	case errors.Is(err, errs.Unavailable):
		return b.broken(errs.Ended(ctx, err))
	}
	waited, found := errs.FoundOut(err)
	r, refused := found.(refusal)
	_, held := b.Session.Cohorts.HeldSince(b.line)
	if !refused && held && !b.Kind.side().Shared { // whatever the server says now
		r, refused = -1, true
	}
	var over *redlatch.NotAcquiredError
	switch {
	case refused:
		over = b.taken(time.Duration(r))
	case errors.Is(found, errs.NotAcquired):
		over = b.refused(0, found.Error())
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

// A refusal is what an attempt found out that was refused: after how long another may succeed, negative if
// that is not known. Its text is made when the wait ends, for most of them are not the last.
type refusal time.Duration

func (refusal) Error() string        { return "is taken" }
func (refusal) Is(target error) bool { return target == errs.NotAcquired }

// taken is the error of a try that was refused, where remaining is after which time another may succeed.
func (b *Base) taken(remaining time.Duration) *redlatch.NotAcquiredError {
	return b.refused(remaining, b.why(remaining))
}

// refused is the error of a try that was refused for the reason why, a clause.
func (b *Base) refused(remaining time.Duration, why string) *redlatch.NotAcquiredError {
	if b.Kind.Queued != nil { // that time is the time to ask again
		remaining = 0
	}
	return &redlatch.NotAcquiredError{Name: b.Name, Kind: b.Kind.Label, Left: max(0, remaining), Detail: why}
}

// leftToOthers is the error of a try for a lock that is free.
func (b *Base) leftToOthers() error {
	return b.refused(0, "is left to other processes for a moment")
}

// why says why the lock is refused. A program that waits for a hold of its own process may wait for itself,
// so that is told. A fair lock and the reading side also refuse for the sake of those who wait.
func (b *Base) why(remaining time.Duration) string {
	since, own := b.Session.Cohorts.HeldSince(b.line)
	why := "is held by somebody else"
	if own {
		why = fmt.Sprintf("is held by this process, for %v by now", time.Since(since).Round(time.Millisecond))
	}
	if b.Kind.Queued != nil || b.Kind.side().Shared {
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
func (b *Base) KnownTaken() bool {
	_, held := b.Session.Cohorts.HeldSince(b.line)
	return held || errors.Is(b.Session.Found(b.line), errs.NotAcquired)
}

// broken is an error of the server or the network, or of ctx, with the lock's name.
func (b *Base) broken(err error) error {
	return fmt.Errorf("redlatch: %s %q: %w", b.Kind.Label.Noun(), b.Name, outcome.Advise(b.Session.Dialing(err)))
}
