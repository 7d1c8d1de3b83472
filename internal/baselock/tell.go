package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// A path is how a hold came to its call.
type path uint8

const (
	asked   path = iota // Redis has granted it to a question
	local               // from a hold of this process, without a command
	swapped             // from a hold of this process, by a command
	passed              // a release has passed it on, by a message
)

func (p path) String() string {
	return [...]string{asked: settings.Fresh, local: settings.Local, swapped: settings.Confirmed,
		passed: settings.Remote}[p]
}

// call tells the observer that a call begins to wait, and is nil if no observer listens.
func (b *Base) call(ctx context.Context, set *settings.Settings) *observe.Call {
	return observe.Begin(ctx, set, b, b.Kind.Label, b.Name, 0)
}

// Look asks who holds the lock.
func (b *Base) Look(ctx context.Context) (redlatch.Info, error) {
	if b.Inspector != nil {
		return b.Inspector.Inspect(ctx)
	}
	return b.held(ctx)
}

// Sessions has one member, the session of the lock.
func (b *Base) Sessions() []*session.Session { return []*session.Session{b.Session} }

// Itself is the base.
func (b *Base) Itself() any { return b }

var _ observe.Subject = (*Base)(nil)

// tellOf is tell for a member of a composite, which no call of its own lock has waited for: one command or
// hand-off, which began at start, got several members.
func (h *hold) tellOf(ctx context.Context, start time.Time) {
	call := h.tenant.tenure.base.call(ctx, h.tenant.set)
	call.Since(start)
	h.tell(call)
}

// tell has the observer know that the call has acquired h. If the observer panics no caller ever gets h, so h
// is given back. If h was lost before its acquisition was told, the loss is told after it.
func (h *hold) tell(call *observe.Call) {
	if call == nil {
		return
	}
	returned := false
	defer raise.Unless(&returned, h.decline)
	call.Acquired(settings.Event{Owner: h.tenant.tenure.id, Token: h.Token(), Reentry: h != &h.tenant.first && h.path != local,
		Path: h.path.String()})
	returned = true
	h.told.Store(call.Hold())
	t := h.tenant.tenure
	t.mu.Lock()
	lost := h.lostLocked()
	t.mu.Unlock()
	if lost != nil {
		h.finish(context.Background(), settings.Lost, lost)
	}
}

// finish has the observer know of the end of h, once. An error that says that h was lost makes it a loss.
func (h *hold) finish(ctx context.Context, kind string, err error) {
	h.told.Load().End(ctx, kind, h.since.Time(), err)
}
