package views

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

const (
	hurryEvery  = fleet.WatchLasts / 2
	hurryAtLast = time.Minute // after a refusal, which as a rule stays
)

// hurry has the clients report every second, if that was not said a short time ago. A server that refuses it costs the view nothing but
// figures that are older, and a line that says so.
func (w *Watch) hurry(ctx context.Context) {
	now := time.Now()
	if now.Before(w.again) {
		return
	}
	err := fleet.Watch(ctx, w.Client, w.Options...)
	switch {
	case err == nil:
		w.again, w.stale = now.Add(hurryEvery), ""
	case ctx.Err() != nil || errors.Is(err, redlatch.ErrUnavailable): // what the frame says, too
	case redis.IsPermissionError(err):
		w.again, w.stale = now.Add(hurryAtLast), "figures may be 5 s old or more: the user may not write to redlatch_client_watched:*"
	default:
		w.again, w.stale = now.Add(hurryAtLast), "figures may be 5 s old or more: "+err.Error()
	}
}
