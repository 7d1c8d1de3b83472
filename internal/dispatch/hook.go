package dispatch

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/redis/go-redis/v9"
)

// The hooks of the client are the program's, and may panic. On the caller's goroutine the panic is the caller's. On a
// goroutine of ours nobody could recover it, and the process would end; so it is caught there, the command gets an error
// that says that nobody knows what became of it, and the caller raises the panic again. Of the callers of a pipeline one
// does, the first, and the others have the error. A caller that has left finds the error as it would any other.

// A Panic is what a caller raises in the place of a goroutine of ours.
type Panic struct {
	Value any    // what the hook panicked with; nil when it ended its goroutine by runtime.Goexit
	Stack []byte // of the goroutine on which it did
}

func (p *Panic) Error() string {
	if p.Value == nil {
		return fmt.Sprintf("a hook of the Redis client has ended its goroutine\n\n%s", p.Stack)
	}
	return fmt.Sprintf("a hook of the Redis client has panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap is what the hook panicked with, if that was an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// errHook is the error of a command whose hook did not return. The hook may have run after the server had executed it.
var errHook = errors.New("a hook of the Redis client has panicked")

// caught is for a deferred function that finds that a hook has not returned. value is what it has recovered.
func caught(value any) *Panic { return &Panic{value, debug.Stack()} }

// undone gives commands whose hook did not return an error, unless they have one.
func undone(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if cmd.Err() == nil {
			cmd.SetErr(errHook)
		}
	}
}
