package redlatch

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// A NotAcquiredError says what was refused and what the refusal has said of it. It matches ErrNotAcquired,
// and Cause too. Nothing is asked for its sake: who holds the lock is for fleet.Get to say.
type NotAcquiredError struct {
	Name string // of what was asked for
	Kind Kind   // what that is

	// Left is after which time the holder's lease is over, unless it is renewed; 0 where that is not known. Of
	// several locks it is that of the one that was in the way, and of a redlock after which enough servers are
	// free.
	Left time.Duration

	Waited time.Duration // how long the call stood in a queue; 0 for one that asked once

	// Want and Have are of a semaphore: how many permits the call asked for, and how many were available.
	// Have is 0 where that is not known. If the semaphore has fewer than Want in all, Detail says so, and
	// Have is that number: to wait longer is of no use.
	Want, Have int64

	Detail string // why, in a clause: "is held by somebody else, for another 29.9s unless renewed"
	// what ended the wait, which is the error of a context, and what came beside it; nil for a call that asked
	// once
	Cause error
}

// Error says what was refused, and why.
func (e *NotAcquiredError) Error() string {
	var b strings.Builder
	b.WriteString("redlatch: not acquired: ")
	b.WriteString(e.Kind.Noun())
	b.WriteString(" ")
	b.WriteString(strconv.Quote(e.Name))
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error() + "; it")
	}
	b.WriteString(" ")
	b.WriteString(cmp.Or(e.Detail, "is taken"))
	return b.String()
}

// Is makes every NotAcquiredError match ErrNotAcquired.
func (e *NotAcquiredError) Is(target error) bool { return target == ErrNotAcquired }

// Unwrap returns Cause, so that errors.Is and errors.As find it too.
func (e *NotAcquiredError) Unwrap() error { return e.Cause }
