package holds

import (
	"context"
	"iter"
	"runtime"
	"weak"
)

// NewContext returns a child of parent that carries hold and ends with it. keep is kept alive as long as the context:
// it is the public Hold, so work that still has the context still holds.
//
// Nothing long-lived may point at the context in return, or the Hold could never be found forgotten. The parent and
// the hold therefore reach only a life, weakly; the context and its children own the life.
func NewContext(parent context.Context, hold Hold, keep any) context.Context {
	l := newLife(parent)
	c := &carrier{Context: l.ctx, parent: parent, life: l, hold: hold, keep: keep}
	if parent.Done() != nil {
		w := weak.Make(l)
		l.unwatch = context.AfterFunc(parent, func() {
			// A deadline that passes is left to the life's own timer, set to the same moment: it says so with the right Err.
			if l := w.Value(); l != nil && parent.Err() != context.DeadlineExceeded {
				l.end(context.Cause(parent))
			}
		})
		// Without this, the registration with a long-lived parent would outlast the context.
		runtime.AddCleanup(c, func(unwatch func() bool) { unwatch() }, l.unwatch)
	}
	hold.Ending().watch(l)
	return c
}

// A life is the part of a context that can be ended from outside.
type life struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   context.CancelFunc // stops the parent's deadline; nil without one
	unwatch func() bool        // takes the registration off the parent; nil where it never ends
}

// newLife keeps the parent's deadline as a deadline of its own, so that ctx.Err is DeadlineExceeded when it passes.
func newLife(parent context.Context) *life {
	l, root := &life{}, context.Background()
	if deadline, ok := parent.Deadline(); ok {
		root, l.timer = context.WithDeadline(root, deadline)
	}
	l.ctx, l.cancel = context.WithCancelCause(root)
	return l
}

func (l *life) end(cause error) {
	l.cancel(cause)
	if l.timer != nil {
		l.timer()
	}
}

// release ends the life because the hold is over; the parent need not tell it any more.
func (l *life) release(cause error) {
	l.end(cause)
	if l.unwatch != nil {
		l.unwatch()
	}
}

// A carrier is the context that NewContext returns: it ends as its life does and has the values of its parent.
type carrier struct {
	context.Context // the life's
	parent          context.Context
	life            *life
	hold            Hold
	keep            any
}

type carrierKey struct{}

// Value looks into the life before the parent: context.Cause and derived contexts ask for the nearest cancellable
// context that way, and it is the life, not the parent's. The life has no other values.
func (c *carrier) Value(key any) any {
	if key == (carrierKey{}) {
		return c
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.parent.Value(key)
}

// Carried yields the holds that ctx carries, the innermost first.
func Carried(ctx context.Context) iter.Seq[Hold] {
	return func(yield func(Hold) bool) {
		for {
			c, _ := ctx.Value(carrierKey{}).(*carrier)
			if c == nil || !yield(c.hold) {
				return
			}
			ctx = c.parent
		}
	}
}

// Detach returns ctx without the holds it carries.
func Detach(ctx context.Context) context.Context { return detached{ctx} }

type detached struct{ context.Context }

func (d detached) Value(key any) any {
	if key == (carrierKey{}) {
		return nil
	}
	return d.Context.Value(key)
}
