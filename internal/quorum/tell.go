package quorum

import (
	"context"

	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// tell has the observer know that the call with ctx has acquired h. If the observer panics the program never
// gets h, so that is given back. A hold that was lost before its acquisition was told is told lost after it.
func (h *Hold) tell(ctx context.Context, call *observe.Call) {
	if call == nil {
		return
	}
	returned := false
	defer raise.Unless(&returned, h.Decline)
	e := settings.Event{Path: settings.Fresh}
	if h.local {
		e.Path = settings.Local
	}
	for carried := range holds.Carried(ctx) {
		other, ok := carried.(*Hold)
		e.Reentry = e.Reentry || ok && other.call.Kind == h.call.Kind && other.call.Name == h.call.Name && other.kept()
	}
	call.Acquired(e)
	returned = true
	h.told.Store(call.Hold())
	h.mu.Lock()
	lost := h.lostLocked()
	h.mu.Unlock()
	if lost != nil {
		h.finish(context.Background(), settings.Lost, lost)
	}
}

// finish has the observer know of the end of h, once. An error that says that h was lost makes it a loss.
func (h *Hold) finish(ctx context.Context, kind string, err error) {
	h.told.Load().End(ctx, kind, h.since, err)
}

// Asked is called when somebody asks for a member. A composite is given back as a whole, so its own observer
// is told.
func (h *Hold) Asked(who, why string) { h.told.Load().Asked(who, why) }
