package views

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

const (
	hurryEvery  = fleet.WatchLasts / 2
	hurryAtLast = time.Minute // after a refusal, which as a rule stays
)

// A Hurry has the clients report every second, for a view that goes on. A nil Hurry does not.
type Hurry struct {
	Client   redis.UniversalClient
	Registry string // the prefix of its keys

	again time.Time // when the clients are told so again
	stale string    // why they do not do it
}

// call has the clients report every second, if that was not said a short time ago. A server that refuses it costs the view nothing but
// figures that are older, and a line that says so, which call returns.
func (h *Hurry) call(ctx context.Context) (stale string) {
	if h == nil {
		return ""
	}
	now := time.Now()
	if now.Before(h.again) {
		return h.stale
	}
	err := fleet.Watch(ctx, h.Client, fleet.WithRegistry(h.Registry))
	switch {
	case err == nil:
		h.again, h.stale = now.Add(hurryEvery), ""
	case ctx.Err() != nil || errors.Is(err, redlatch.ErrUnavailable): // what the frame says, too
	case redis.IsPermissionError(err):
		h.again, h.stale = now.Add(hurryAtLast), fmt.Sprintf("figures may be 5 s old or more: the user may not write to %sredlatch_client_watched:*", h.Registry)
	default:
		h.again, h.stale = now.Add(hurryAtLast), "figures may be 5 s old or more: "+err.Error()
	}
	return h.stale
}
