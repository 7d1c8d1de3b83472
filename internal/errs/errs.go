// Package errs holds the errors that every layer reports and the root package shows to users.
package errs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The sentinels; package redlatch documents them.
var (
	NotAcquired   = errors.New("redlatch: not acquired")
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

// A Loss says of one hold when and why it was lost. It is Lost to errors.Is.
type Loss struct {
	Name   string    // the lock
	Owner  string    // the identity that held it; empty for a hold of several locks
	Reason string    // a clause: "the key no longer names this owner"
	At     time.Time // when this process learned of it
	Cause  error     // what the last renewals failed with, if they failed
}

func (l *Loss) Error() string {
	text := fmt.Sprintf("redlatch: %q lost at %s", l.Name, l.At.Format("15:04:05.000"))
	if l.Owner != "" {
		text += " by " + l.Owner
	}
	text += ": " + l.Reason
	if l.Cause != nil {
		text += ": " + l.Cause.Error()
	}
	return text
}

// Is makes every Loss match the sentinel.
func (l *Loss) Is(target error) bool { return target == Lost }

// Unwrap gives the failure of the renewals, so that errors.Is finds it too.
func (l *Loss) Unwrap() error { return l.Cause }

// Ended is an error that came of the end of ctx, with the cause of that, if it says more.
func Ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// Wrong is an error for an argument that the caller can correct; the text says how.
func Wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", Invalid, fmt.Sprintf(format, args...))
}
