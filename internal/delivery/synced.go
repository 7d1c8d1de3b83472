package delivery

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/scripts"
)

// Synced is Deliver for a command that replicas have to acknowledge. It is resent only when it was certainly not
// executed: a second execution would write nothing, and WAIT, which speaks of its own connection's writes, would then
// count replicas that know nothing of the first. It goes out with its source, for a WAIT behind an unknown script
// would be as wrong.
//
// sent is a moment before the send that was executed, acknowledged is how many replicas did; unheard is why that could
// not be found out, of a command that was executed.
func Synced[R any](ctx context.Context, d *dispatch.Dispatcher, cmd scripts.Command[R], replicas int, timeout time.Duration, limit Limit) (reply R, sent time.Time, acknowledged int64, unheard error, err error) {
	var pauses pauses
	if d.Narrow(cmd.Script()) {
		cmd, _ = cmd.Narrow(false)
	}
	for adapts := 0; ; {
		send := cmd.Cmder(context.Background(), true)
		sent = clock.Now()
		wait, err := d.Synced(ctx, cmd.Key(), send, replicas, timeout)
		if err != nil {
			if failure := stopped(ctx, err, &pauses, Receipt{Sent: sent}); failure != nil {
				return reply, sent, 0, nil, failure
			}
		}
		if other, ok := adapted(d, cmd, err); ok {
			cmd = other
			if adapts++; adapts <= mostAtOnce {
				continue
			}
		}
		switch outcome.Of(err) {
		case outcome.Done:
			if reply, err = cmd.Read(send); err != nil {
				return reply, sent, 0, nil, &Failure{Err: err, Doubt: true, Sent: sent}
			}
			return reply, sent, wait.Val(), wait.Err(), nil
		case outcome.Unknown:
			return reply, sent, 0, nil, &Failure{Err: err, Doubt: true, Sent: sent}
		case outcome.Moved, outcome.NotYet:
			d.Reload(ctx)
		case outcome.Full:
		default:
			return reply, sent, 0, nil, &Failure{Err: err}
		}
		tellWatcher(ctx, err)
		if stop := pauses.sleep(ctx, err, limit.Outage); stop != nil {
			return reply, sent, 0, nil, &Failure{Err: stop}
		}
	}
}
