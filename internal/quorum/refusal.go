package quorum

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
)

// A Refusal is that of a composite, in the words of its members.
type Refusal struct {
	redlatch.NotAcquiredError
	Said error // by the members, in the last attempt
	Cut  bool  // Cause has ended the wait after that attempt, and is not in its words
}

func (r *Refusal) Error() string {
	what := r.Kind.Noun() + " " + strconv.Quote(errs.Short(r.Name))
	said := strings.TrimPrefix(errs.Part(r.Said, what).Error(), "not acquired: ")
	text := errs.NotAcquired.Error() + ": " + what + ": "
	if r.Cut {
		return text + r.Cause.Error() + " (the last attempt: " + said + ")"
	}
	return text + said
}

// Unwrap has what the members said, for an error of one of them.
func (r *Refusal) Unwrap() []error {
	if r.Cause == nil {
		return []error{r.Said}
	}
	return []error{r.Said, r.Cause}
}

// As finds the refusal of the composite, and not that of a member.
func (r *Refusal) As(target any) bool {
	t, ok := target.(**redlatch.NotAcquiredError)
	if ok {
		*t = &r.NotAcquiredError
	}
	return ok
}

// refused is err as the refusal of the composite where it is that of a member.
func (c *Call) refused(err error) error {
	member, ok := errors.AsType[*redlatch.NotAcquiredError](err)
	if !ok || member.Kind == c.Kind && member.Name == c.Name {
		return err
	}
	r := &Refusal{NotAcquiredError: *member, Said: err}
	r.Name, r.Kind = c.Name, c.Kind
	return r
}

// Over is the error of a wait that ctx has ended, with what was found out last, nil if nothing was.
func (c *Call) Over(ctx context.Context, err, found error) error {
	var r *Refusal
	cause := errs.Ended(ctx, ctx.Err())
	switch {
	case errors.As(found, &r):
		over := *r
		over.Cause, over.Cut, over.Waited = cause, true, errs.Waited(err)
		return &over
	case errors.Is(found, errs.NotAcquired):
		return &redlatch.NotAcquiredError{
			Name: c.Name, Kind: c.Kind, Waited: errs.Waited(err), Detail: found.Error(), Cause: cause,
		}
	}
	return errs.WaitOver(ctx, c.what(), ctx.Err(), found)
}
