package quorum

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// Tell has the observer know that h was acquired, by a call with ctx that began at start. If the observer panics nobody
// ever gets h, so that is given back. A hold that was lost before its acquisition was told is told lost after it.
func (h *Hold) Tell(ctx context.Context, start time.Time) {
	if h.terms.Set.Observe == nil {
		return
	}
	returned := false
	defer raise.Unless(&returned, h.Decline)
	for carried := range holds.Carried(ctx) {
		other, ok := carried.(*Hold)
		h.inner = h.inner || ok && other.terms.Noun == h.terms.Noun && other.terms.Name == h.terms.Name && other.kept()
	}
	h.observe(settings.Acquired, time.Since(start), nil)
	returned = true
	h.told.Acquired()
	h.mu.Lock()
	lost := h.lost
	h.mu.Unlock()
	if lost != nil {
		h.finish(settings.Lost, lost)
	}
}

// finish has the observer know of the end of h, once. An error that says that h was lost makes it a loss.
func (h *Hold) finish(kind int, err error) {
	if !h.told.End() {
		return
	}
	if errors.Is(err, errs.Lost) {
		kind = settings.Lost
	}
	h.observe(kind, time.Since(h.since), err)
}

func (h *Hold) observe(kind int, d time.Duration, err error) {
	h.terms.Set.Observe(settings.Event{Kind: kind, Primitive: h.terms.Noun, Name: h.terms.Name, Reentry: h.inner, Duration: d, Err: err})
}
