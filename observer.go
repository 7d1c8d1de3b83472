package redlatch

import (
	"context"
	"sync/atomic"

	"github.com/redlatch/redlatch/internal/settings"
)

// An Observer is told what happens to primitives: see [WithObserver] and [SetDefaultObserver]. It will have
// no other methods than these three: what later versions tell besides has another [EventKind]. Its methods
// are called by many goroutines at once, with no mutex of this library held: they may call any primitive.
// They must be quick, because the calls that they are told of wait for them. An EventRenewed is left out
// while the observer is busy with an earlier one of the same hold. An observer that unlocks the hold of an
// [EventLost] may wait for what that hold has under way; do it on another goroutine.
//
// The members of a multi-lock that are taken or handed on by one command are told of with their wait's
// beginning and end together.
//
// What WaitStart or WaitEnd panics with, the call panics with that waits; what it has acquired is given back.
// What Observe panics with is caught, and goes to [WithLogger] or else to slog.Default, because it is called
// in the middle of a release too, and on goroutines where no program could recover.
type Observer interface {
	// WaitStart is told that a call begins to wait: Lock, TryLock, Acquire, TryAcquire, Await. e.Kind is
	// EventWaiting. It is called by the goroutine and with the context of the call, whose options and arguments
	// were found to make sense. It returns that context, or a child of it, perhaps with a span: the call uses
	// what it returns for its commands, and for WaitEnd. Calls that find what they want at once begin with it
	// too.
	WaitStart(ctx context.Context, e Event) context.Context

	// WaitEnd is told that the call does not wait any more, once for each WaitStart, also when the call panics.
	// e.Kind is EventAcquired, EventRefused or EventOpened. It is called by the same goroutine, with the context
	// that WaitStart has returned, before the call returns.
	WaitEnd(ctx context.Context, e Event)

	// Observe is told everything else. For what a call of the program does, ctx is its context: EventReleased
	// has that of Unlock or Release, EventCounted that of CountDown, EventSlowWait that of the call that waits.
	// EventRenewed, EventSettled, EventAsked, EventForgotten, EventLeft, EventLost and EventLongHold have none
	// and get context.Background. These and EventSlowWait may come on a goroutine of the library.
	Observe(ctx context.Context, e Event)
}

// An ObserverFunc is an Observer that is told everything by one function, and changes no context.
type ObserverFunc func(ctx context.Context, e Event)

// WaitStart calls f.
func (f ObserverFunc) WaitStart(ctx context.Context, e Event) context.Context {
	f(ctx, e)
	return ctx
}

// WaitEnd calls f.
func (f ObserverFunc) WaitEnd(ctx context.Context, e Event) { f(ctx, e) }

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// WithObserver has o be told what happens, instead of the default observer. With nil no observer is told, not
// even the default one. A hold sends its events to the observer that was told of its acquisition. An observer
// of a multi-lock or redlock is told about that, and not about the members. Those of a multi-lock have
// observers of their own, given to their New, or else the default one.
func WithObserver(o Observer) Option {
	return option(func(s *settings.Settings) {
		s.Observer, s.Unobserved = o, o == nil
	})
}

// SetDefaultObserver makes o the observer of everything in this process that has no [WithObserver], also of
// primitives that were made before. Calls that are under way, and holds, keep the observer that they began
// with. With nil there is none.
func SetDefaultObserver(o Observer) {
	usual.Store(&o)
}

var usual atomic.Pointer[Observer]

// DefaultObserver returns the observer of [SetDefaultObserver], nil if there is none. [Observers] adds
// another one to it.
func DefaultObserver() Observer {
	if o := usual.Load(); o != nil {
		return *o
	}
	return nil
}
