package session

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts"
)

// Once sends cmd on the caller's goroutine, one time, by a connection of its own, and repeats it only for a server
// that does not know the script. It is for renewals, which are repeated by their own clock and must not stand in a
// queue behind a command that hangs.
func Once[R any](ctx context.Context, client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}, cmd scripts.Command[R]) (reply R, err error) {
	send := cmd.Cmder(ctx, false)
	err = client.Process(ctx, send)
	if outcome.Of(err) == outcome.NoScript {
		send = cmd.Cmder(ctx, true)
		err = client.Process(ctx, send)
	}
	if err != nil {
		return reply, err
	}
	return cmd.Read(send)
}
