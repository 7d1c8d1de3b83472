// Package errs holds the errors that every layer reports and the root package shows to users.
package errs

import (
	"context"
	"errors"
	"fmt"
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

// Wrong is an error for an argument that the caller can correct; the text says how.
func Wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", Invalid, fmt.Sprintf(format, args...))
}
