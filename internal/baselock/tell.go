package baselock

import (
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// tell has the observer know of h. If the observer panics no caller ever gets h, so h is given back. If h was lost before its
// acquisition was told, the loss is told after it.
func (b *Base) tell(set *settings.Settings, h *hold, start time.Time) {
	if set.Observe == nil {
		return
	}
	o := h.owner
	returned := false
	defer raise.Unless(&returned, h.decline)
	h.observe(settings.Acquired, start, nil)
	returned = true
	h.told.Acquired()
	o.mu.Lock()
	lost := h.lostLocked()
	o.mu.Unlock()
	if lost != nil {
		h.finish(settings.Lost, lost)
	}
}

// finish has the observer know of the end of h, once. An error that says that h was lost makes it a loss.
func (h *hold) finish(kind int, err error) {
	if !h.told.End() {
		return
	}
	if errors.Is(err, errs.Lost) {
		kind = settings.Lost
	}
	h.observe(kind, h.since.Time(), err)
}

func (h *hold) observe(kind int, since time.Time, err error) {
	o := h.owner
	h.observer(settings.Event{Kind: kind, Primitive: o.base.Kind.Noun, Name: o.base.Name, Owner: o.id, Reentry: h != &o.first && !h.local,
		Duration: time.Since(since), Err: err})
}
