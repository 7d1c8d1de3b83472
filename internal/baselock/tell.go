package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// told is the path as an observer is told it.
func (p path) told() redlatch.Path {
	return [...]redlatch.Path{asked: redlatch.PathFresh, Local: redlatch.PathLocal, Swapped: redlatch.PathConfirmed,
		Passed: redlatch.PathRemote}[p]
}

// Call tells the observer that a call begins to wait, and is nil if no observer listens.
func (b *Base) Call(ctx context.Context, set *settings.Settings) *observe.Call {
	return observe.Begin(ctx, set, b, b.Kind.Label, b.Name, 0)
}

// Look asks who holds the lock.
func (b *Base) Look(ctx context.Context) (redlatch.Info, error) {
	if b.Inspector != nil {
		return b.Inspector.Inspect(ctx)
	}
	return b.Held(ctx)
}

// Sessions has one member, the session of the lock.
func (b *Base) Sessions() []*session.Session { return []*session.Session{b.Session} }

// Itself is the base.
func (b *Base) Itself() any { return b }

var _ observe.Subject = (*Base)(nil)

// TellOf is tell for a member of a composite, which no call of its own lock has waited for: one command or
// hand-off, which began at start, got several members.
func (h *Hold) TellOf(ctx context.Context, start time.Time) {
	call := h.Tenant.Tenure.Base.Call(ctx, h.Tenant.Set)
	call.Since(start)
	h.Tell(call)
}

// Tell has the observer know that the call has acquired h. If the observer panics no caller ever gets h, so h
// is given back.
func (h *Hold) Tell(call *observe.Call) {
	if call == nil {
		return
	}
	h.Acquired(call, redlatch.Event{Owner: h.Tenant.Tenure.ID, Token: h.Token(),
		Reentry: h != &h.Tenant.first && h.Path != Local, Path: h.Path.told()}, h.Decline)
}
