// Package exit keeps the exit codes of the command: one table for all subcommands, after sysexits and the shells, and the
// function that finds the code of an error.
package exit

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/outcome"
)

// The exit codes. A subcommand that starts a program passes that program's code on.
const (
	OK            = 0
	Failed        = 1
	Usage         = 64
	WrongKind     = 65
	Unavailable   = 69
	Busy          = 75
	Lost          = 76
	Denied        = 77
	Asked         = 79
	TooLong       = 124 // as timeout(1) has it
	NotExecutable = 126
	NotFound      = 127
	Signalled     = 128
	Interrupted   = 130
	Terminated    = 143
)

// A Row is one line of the table.
type Row struct {
	Code    int
	Name    string // of the outcome, as "run --result" writes it
	Meaning string
}

// Table is what docs/command.md shows.
var Table = []Row{
	{OK, "ok", "it worked"},
	{Failed, "failed", "it did not work, or what was to be shown is not so"},
	{Usage, "usage", "the command line makes no sense; nothing was done"},
	{WrongKind, "wrong-kind", "Redis keeps something else under the name"},
	{Unavailable, "unavailable", "the server cannot be reached, or cannot execute commands"},
	{Busy, "busy", "the lock is taken, and the wait, if there was one, is over"},
	{Lost, "lost", "the lock was lost while it was held"},
	{Denied, "denied", "the server refuses the user, the password, or a command"},
	{Asked, "asked", "somebody asked for the lock, and the command was ended for that"},
	{TooLong, "too-long", "the time of --max-hold was over, and the command was ended for that"},
	{NotExecutable, "not-executable", "the program cannot be executed"},
	{NotFound, "not-found", "the program was not found"},
	{Signalled, "signalled", "128 + n: the program was ended by signal n"},
	{Interrupted, "interrupted", "Ctrl-C before the program was started"},
	{Terminated, "terminated", "SIGTERM before the program was started"},
}

// An Error is an error with its exit code. Without Err nothing is printed.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return Name(e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// With is err with a code of its own.
func With(code int, err error) error { return &Error{Code: code, Err: err} }

// Silently ends the command with the code, 0 included, and prints nothing.
func Silently(code int) error { return &Error{Code: code} }

// Name is the name of the outcome that a code stands for.
func Name(code int) string {
	for _, row := range Table {
		if row.Code == code {
			return row.Name
		}
	}
	return "exited"
}

// Code finds the exit code of an error.
func Code(err error) int {
	var own *Error
	var network net.Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &own):
		return own.Code
	case errors.Is(err, redlatch.ErrLost):
		return Lost
	case redis.IsAuthError(err), redis.IsPermissionError(err):
		return Denied
	case outcome.Redirects(err): // it matches ErrInvalid, for a program is to be changed; of a command the URL is
		return Unavailable
	case outcome.OtherKind(err): // it matches ErrInvalid, as other misuse does, but only this comes from Redis
		return WrongKind
	case errors.Is(err, redlatch.ErrInvalid):
		return Usage
	case errors.Is(err, redlatch.ErrNotAcquired):
		return Busy
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, redlatch.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return Unavailable
	default:
		return Failed
	}
}
