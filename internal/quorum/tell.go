package quorum

import (
	"context"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/observe"
)

// tell has the observer know that the call with ctx has acquired h. If the observer panics the program never
// gets h, so that is given back. A hold that was lost before its acquisition was told is told lost after it.
func (h *Hold) tell(ctx context.Context, call *observe.Call) {
	if call == nil {
		return
	}
	e := redlatch.Event{Path: redlatch.PathFresh}
	if h.local {
		e.Path = redlatch.PathLocal
	}
	for carried := range holds.Carried(ctx) {
		other, ok := carried.(*Hold)
		e.Reentry = e.Reentry || ok && other.call.Kind == h.call.Kind && other.call.Name == h.call.Name && other.kept()
	}
	h.Acquired(call, e, h.Decline)
}
