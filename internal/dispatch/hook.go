package dispatch

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
)

// The hooks of the client are code of the program, and may panic. Package raise says what becomes of a panic.
// The command gets an error, and its outcome counts as unknown. Where the commands of several callers share a
// pipeline, the first caller that still waits raises the panic, and the other callers get the error. If no
// caller waits any more, the panic is a stray, of which the dispatcher tells OnStray.

// errHook is the error of a command whose hook did not return. The hook may have panicked after the server
// had executed the command.
var errHook = errors.New("a hook of the Redis client has panicked")

// stray tells of a panic that would have been raised in a call with ctx.
func (d *Dispatcher) stray(ctx context.Context, p *raise.Panic) {
	switch {
	case raise.Unattended(ctx):
		p.Raise(ctx)
	case d.OnStray != nil:
		d.OnStray(p)
	}
}

// undone gives commands whose hook did not return an error, unless they have one.
func undone(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if cmd.Err() == nil {
			cmd.SetErr(errHook)
		}
	}
}

// Direct sends commands to one server now, in one round trip, and waits for their answers. A panic of a hook
// leaves them with errors, and is returned.
func Direct(ctx context.Context, client Client, cmds []redis.Cmder) *raise.Panic {
	lockorder.Unlocked("commands are sent")
	raised := raise.Run(func() {
		if len(cmds) == 1 {
			_ = client.Process(ctx, cmds[0])
			return
		}
		pipe := client.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd)
		}
		_ = Exec(ctx, pipe) // every command has its own error
	})
	if raised != nil {
		undone(cmds...)
	}
	return raised
}
