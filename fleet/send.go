package fleet

import (
	"context"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// send executes a script.
func send[R any](ctx context.Context, a *asking, cmd scripts.Command[R]) (reply R, err error) {
	dispatch := session.Of(a.client, rootapi.For(a.options.primitives)).Dispatch
	reply, _, err = delivery.Deliver(ctx, dispatch, cmd, delivery.Limit{Outage: settings.DefaultOutage})
	if err != nil {
		return reply, outcome.Advise(err)
	}
	return reply, nil
}
