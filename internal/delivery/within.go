package delivery

import (
	"context"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/scripts"
)

// Within is Deliver for what has to happen although ctx may have ended: ctx lends its values only, and
// limit.Total is how long it may take. While the server answers promptly the first send runs on the caller's
// goroutine, which saves two switches; after the first failure, or a silence, no send can hold the caller up.
// Nor can a connection that the first one has to wait for.
func Within[R any](ctx context.Context, d *dispatch.Dispatcher, cmd scripts.Command[R],
	limit Limit) (R, Receipt, error) {
	now := clock.Now()
	if d.Prompt(cmd.Key(), limit.Total, now) {
		ctx = d.Limit(ctx, limit.Total, now)
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), limit.Total)
		defer cancel()
		limit.Total = 0
	}
	reply, receipt, err := deliver(ctx, d, &cmd, limit, now, nil)
	if err != nil {
		AsFailure(err).left = false // what ended was the time that the server has for its answer
	}
	return reply, receipt, err
}
