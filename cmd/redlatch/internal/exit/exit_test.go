package exit_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

func TestEachErrorHasItsCode(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"none":                {nil, exit.OK},
		"any":                 {errors.New("something"), exit.Failed},
		"its own":             {fmt.Errorf("x: %w", exit.With(3, redlatch.ErrLost)), 3},
		"silent success":      {exit.Silently(0), exit.OK},
		"misuse":              {fmt.Errorf("%w: no name", redlatch.ErrInvalid), exit.Usage},
		"wrong kind":          {fmt.Errorf("%w: %w", redlatch.ErrInvalid, reply("WRONGTYPE Operation against a key")), exit.WrongKind},
		"wrong content":       {fmt.Errorf("%w: %w", redlatch.ErrInvalid, reply("ERR k holds something that is not an integer")), exit.WrongKind},
		"a name that says so": {fmt.Errorf("%w: no WRONGTYPE name", redlatch.ErrInvalid), exit.Usage},
		"another node":        {fmt.Errorf("%w: %w", redlatch.ErrInvalid, reply("MOVED 3999 127.0.0.1:6381")), exit.Unavailable},
		"unreachable":         {refused, exit.Unavailable},
		"outage":              {fmt.Errorf("%w: %w", redlatch.ErrUnavailable, context.DeadlineExceeded), exit.Unavailable},
		"no answer in time":   {context.DeadlineExceeded, exit.Unavailable},
		"taken until the end": {fmt.Errorf("%w: %w", redlatch.ErrNotAcquired, context.DeadlineExceeded), exit.Busy},
		"lost":                {&redlatch.LossError{}, exit.Lost},
		"lost by an outage":   {&redlatch.LossError{Cause: refused}, exit.Lost},
		"interrupted":         {context.Canceled, exit.Interrupted},
	} {
		require.Equal(t, c.code, exit.Code(c.err), name)
	}
}

// A reply is an error that the server gives.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestEachCodeHasOneRow(t *testing.T) {
	seen := map[int]bool{}
	for _, row := range exit.Table {
		require.False(t, seen[row.Code], row.Code)
		seen[row.Code] = true
		require.Equal(t, row.Name, exit.Name(row.Code))
	}
	require.Equal(t, "exited", exit.Name(3))
}
