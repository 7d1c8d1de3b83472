package delivery

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/scripts"
)

// Synced is Deliver for a command that replicas have to acknowledge. It is resent only when it was certainly
// not executed: a second execution would write nothing, and WAIT, which speaks of its own connection's
// writes, would then count replicas that know nothing of the first. It goes out with its source, for a WAIT
// behind an unknown script would be as wrong.
//
// sent is a moment before the send that was executed, acknowledged is how many replicas did; unheard is why
// that could not be found out, of a command that was executed.
func Synced[R any](ctx context.Context, d *dispatch.Dispatcher, cmd scripts.Command[R], replicas int,
	timeout time.Duration, limit Limit) (reply R, sent time.Time, acknowledged int64, unheard error, err error) {
	limit.Once = true
	var wait *redis.IntCmd
	reply, receipt, err := deliver(ctx, d, &cmd, limit, clock.Now(),
		func(ctx context.Context, send redis.Cmder) (err error) {
			wait, err = d.Synced(ctx, cmd.Key(), send, replicas, timeout)
			return err
		})
	if err != nil {
		return reply, receipt.Sent, 0, nil, err
	}
	return reply, receipt.Sent, wait.Val(), wait.Err(), nil
}
