// Package errs holds the errors that every layer reports and the root package shows to users.
package errs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The sentinels; package redlatch documents them.
var (
	NotAcquired   = errors.New("redlatch: not acquired")
	Unavailable   = errors.New("redlatch: the server or the network failed")
	NotHeld       = errors.New("redlatch: not held")
	Lost          = errors.New("redlatch: lock lost")
	Released      = errors.New("redlatch: already released")
	Upgrade       = errors.New("redlatch: a read hold cannot be upgraded to a write hold; release it first")
	NotReentrant  = errors.New("redlatch: this lock is not reentrant and the hold in the context has it already")
	NotReplicated = errors.New("redlatch: not acknowledged by enough replicas")
	Uncertain     = errors.New("redlatch: outcome unknown")
	Stale         = errors.New("redlatch: stale fencing token")
	Invalid       = errors.New("redlatch: invalid argument")
)

// Ended is an error that came of the end of ctx, with the cause of that, if it says more.
func Ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// shortName is about as long as a text may be that names one thing.
const shortName = 100

// Short is a name as a text quotes it. That of a multi-lock has the names of all its members.
func Short(name string) string {
	if len(name) <= shortName {
		return name
	}
	return strings.ToValidUTF8(name[:shortName], "") + "..."
}

// fewFailures is how many of several failures a text has.
const fewFailures = 5

// several are failures of which the text has the first few.
type several []error

func (s several) Error() string {
	return fmt.Sprintf("%v\nand %d more", errors.Join(s[:fewFailures]...), len(s)-fewFailures)
}

// Unwrap returns all of them.
func (s several) Unwrap() []error { return s }

// Join is errors.Join, with the first few failures in its text: a thousand members may fail at once.
func Join(failures ...error) error {
	failures = slices.DeleteFunc(slices.Clone(failures), func(err error) bool { return err == nil })
	if len(failures) <= fewFailures {
		return errors.Join(failures...)
	}
	return several(failures)
}

// Wrong is an error for an argument that the caller can correct; the text says how.
func Wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", Invalid, fmt.Sprintf(format, args...))
}

// An Unanswered is the error of a wait, with what was found out last about what it waited for: a refusal, the
// failure of the last attempt, or nil for nothing yet. That matters where the wait has ended by its context;
// the attempt that this has cut off may know more.
type Unanswered struct {
	Err, Found error
	Waited     time.Duration // how long the call stood in the queue
}

func (u *Unanswered) Error() string { return u.Err.Error() }

// Unwrap is the error itself.
func (u *Unanswered) Unwrap() error { return u.Err }

// FoundOut is what an Unanswered in err says, nil if there is none.
func FoundOut(err error) (waited time.Duration, found error) {
	if u := new(Unanswered); errors.As(err, &u) {
		return u.Waited, u.Found
	}
	return 0, nil
}

// WaitOver is the error of a wait for what that ctx has ended and that was not refused before. found is the
// failure of the last attempt, and makes it match what that matches. With nil it matches the error of ctx
// alone.
func WaitOver(ctx context.Context, what string, err, found error) error {
	err = Ended(ctx, err)
	if found == nil {
		return fmt.Errorf("redlatch: %s: %w; there was no answer before, so nothing is known about it", what, err)
	}
	return fmt.Errorf("redlatch: %s: %w (the last attempt failed: %w)", what, err, Part(found, what))
}

// A CutOff is the end of a context that has taken a call out of the queue in which it stood since then.
type CutOff struct {
	Err   error
	Since time.Time
}

func (c *CutOff) Error() string { return c.Err.Error() }

// Unwrap is the error of the context.
func (c *CutOff) Unwrap() error { return c.Err }

// Waited is for how long a call stood in a queue that failed with err; 0 if it has not.
func Waited(err error) time.Duration {
	if c := new(CutOff); errors.As(err, &c) {
		return time.Since(c.Since)
	}
	return 0
}

// A Refusal is why something was refused, as a clause without its subject: "is held by somebody else".
type Refusal string

func (r Refusal) Error() string { return string(r) }

// Is makes every Refusal match the sentinel.
func (r Refusal) Is(target error) bool { return target == NotAcquired }
