package redlatch

import (
	"fmt"
	"time"
)

// A LossError says when and why one hold was lost. It matches ErrLost, and also the error of the last renewal if that
// was the reason.
type LossError struct {
	Name   string    // of the lock or semaphore
	Owner  string    // the identity that held it, of a Permit its first id; empty for a hold of several locks
	Reason string    // a clause: "the key no longer names this owner"
	At     time.Time // when this process learned of it
	Cause  error     // what the last renewals failed with, nil if they did not fail
	Forced string    // who took it away by force and why, if that was said; see fleet.Free
}

// Error says what was lost, when and why.
func (l *LossError) Error() string {
	text := fmt.Sprintf("redlatch: %q lost at %s", l.Name, l.At.Format("15:04:05.000"))
	if l.Owner != "" {
		text += " by " + l.Owner
	}
	text += ": " + l.Reason
	if l.Forced != "" {
		text += "; it was freed by force by " + l.Forced
	}
	if l.Cause != nil {
		text += ": " + l.Cause.Error()
	}
	return text
}

// Is makes every LossError match ErrLost.
func (l *LossError) Is(target error) bool { return target == ErrLost }

// Unwrap returns Cause, so that errors.Is and errors.As find it too.
func (l *LossError) Unwrap() error { return l.Cause }
