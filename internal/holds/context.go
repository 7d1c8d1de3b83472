package holds

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"
	"time"
	"weak"
)

// NewContext returns a child of parent that carries hold and ends with it. keep is kept alive as long as the
// context: it is the public Hold, so work that still has the context still holds.
//
// Nothing long-lived may point at the context in return, or the Hold could never be found forgotten. The
// parent and the hold therefore reach only a life, weakly; the context and its children own the life. From
// the moment on at which somebody may wait for the end without having the context any more, the hold owns it
// too: see carrier.Done.
func NewContext(parent context.Context, hold Hold, keep any) context.Context {
	l := newLife(parent)
	c := &carrier{Context: l.ctx, parent: parent, life: l, hold: hold, keep: keep}
	if parent.Done() != nil {
		w := weak.Make(l)
		l.unwatch = context.AfterFunc(parent, func() {
			if l := w.Value(); l != nil {
				l.follow(parent)
			}
		})
		// Without this, the registration with a long-lived parent would outlast the context.
		runtime.AddCleanup(c, (*ties).loosen, l.ties)
		if parent.Err() != nil { // the registration only starts a goroutine
			l.follow(parent)
		}
	}
	hold.Ending().watch(l)
	return c
}

// A life is the part of a context that can be ended from outside.
type life struct {
	*ties
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// ties are what holds a life from the parent's side. They do not lead to the context.
type ties struct {
	pinned  atomic.Bool        // the hold owns the life too
	timer   context.CancelFunc // stops the parent's deadline; nil without one
	unwatch func() bool        // takes the registration off the parent; nil where it never ends
}

// newLife keeps the parent's deadline as a deadline of its own, so that ctx.Err is DeadlineExceeded when it
// passes.
func newLife(parent context.Context) *life {
	l, root := &life{ties: &ties{}}, context.Background()
	if deadline, ok := parent.Deadline(); ok {
		root, l.timer = context.WithDeadline(root, deadline)
	}
	l.ctx, l.cancel = context.WithCancelCause(root)
	return l
}

// follow ends the life because the parent has ended. A deadline that has passed is left to the life's own
// timer, set to the same moment: it says so with the right Err.
func (l *life) follow(parent context.Context) {
	deadline, ok := parent.Deadline()
	if ok && parent.Err() == context.DeadlineExceeded && !time.Now().Before(deadline) {
		return
	}
	l.end(context.Cause(parent))
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

// loosen lets go of the parent after the context has become unreachable, unless somebody may still wait for
// its end.
func (t *ties) loosen() {
	if t.pinned.Load() {
		return
	}
	t.unwatch()
	if t.timer != nil {
		t.timer()
	}
}

// A carrier is the context that NewContext returns: it ends as its life does and has the values of its
// parent.
type carrier struct {
	context.Context // the life's
	parent          context.Context
	life            *life
	hold            Hold
	keep            any
}

// Done makes the hold own the life until one of them is over. A goroutine that receives from the channel, or
// a function registered with context.AfterFunc, needs no reference to the context, and would never learn of a
// loss if the life could be collected. All ways to wait begin here, those of derived contexts too. As with
// any context that is not cancelled, what it takes is given back when the parent ends. It is not when the
// contexts derived from it have ended: nobody can see whether the channel is still waited on.
func (c *carrier) Done() <-chan struct{} {
	if !c.life.pinned.Load() {
		c.hold.Ending().pin(c.life)
	}
	return c.Context.Done()
}

type carrierKey struct{}

// Value looks into the life before the parent: context.Cause and derived contexts ask for the nearest
// cancellable context that way, and it is the life, not the parent's. The life has no other values.
func (c *carrier) Value(key any) any {
	if key == (carrierKey{}) {
		return c
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.parent.Value(key)
}

// Carried yields the holds that ctx carries, the innermost first, with what keeps each of them alive: the
// public hold, nil of one that was lent.
func Carried(ctx context.Context) iter.Seq2[Hold, any] {
	return func(yield func(Hold, any) bool) {
		for {
			c, _ := ctx.Value(carrierKey{}).(*carrier)
			if c == nil || !yield(c.hold, c.keep) {
				return
			}
			ctx = c.parent
		}
	}
}

// Lend returns ctx as one that carries hold besides. Unlike NewContext it does not end with it: it is for one
// call that acts in the name of hold.
func Lend(ctx context.Context, hold Hold) context.Context {
	return instead{ctx, &carrier{parent: ctx, hold: hold}}
}

// Detach returns ctx without the holds it carries.
func Detach(ctx context.Context) context.Context { return instead{ctx, nil} }

// An instead is a context with another carrier.
type instead struct {
	context.Context
	carrier *carrier // for Carried alone, it has no life; nil: there is none
}

func (i instead) Value(key any) any {
	if key == (carrierKey{}) {
		return i.carrier
	}
	return i.Context.Value(key)
}
