package holds

import (
	"runtime"
	"slices"
	"sync"
	"weak"
)

// An Ending is the moment at which a hold is over. Contexts made from the hold are told through weak pointers: a
// context that nobody can reach any more needs no telling, and must not keep the public Hold alive from here, or a
// hold that the program forgot would never be noticed. Those that somebody may wait for are pinned besides.
type Ending struct {
	mu       sync.Mutex
	cause    error // why it is over; nil while it lasts
	watchers []weak.Pointer[life]
	prune    int                 // length at which dead watchers are swept out
	pins     []*life             // watchers that must not be collected
	unpin    int                 // length at which pins that are over are swept out
	heirs    []func(cause error) // holds that stand on this one
}

// End ends the hold for cause, unless it has ended already, and reports whether this call did it.
func (e *Ending) End(cause error) bool {
	e.mu.Lock()
	if e.cause != nil {
		e.mu.Unlock()
		return false
	}
	e.cause = cause
	watchers, pins, heirs := e.watchers, e.pins, e.heirs
	e.watchers, e.pins, e.heirs = nil, nil, nil
	e.mu.Unlock()
	for _, w := range watchers {
		if l := w.Value(); l != nil {
			l.release(cause)
		}
	}
	runtime.KeepAlive(pins)
	for _, tell := range heirs {
		tell(cause)
	}
	return true
}

// OnEnd has tell called with the cause when the hold ends, at once when it has ended. It is for a hold that stands on
// this one, and is called on the goroutine that ends it, so that nobody finds this hold over and that one in force.
func (e *Ending) OnEnd(tell func(cause error)) {
	e.mu.Lock()
	cause := e.cause
	if cause == nil {
		e.heirs = append(e.heirs, tell)
	}
	e.mu.Unlock()
	if cause != nil {
		tell(cause)
	}
}

// Cause is why the hold is over, nil while it lasts.
func (e *Ending) Cause() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cause
}

// watch makes the end known to l, at once when it has come.
func (e *Ending) watch(l *life) {
	e.mu.Lock()
	if cause := e.cause; cause != nil {
		e.mu.Unlock()
		l.release(cause)
		return
	}
	defer e.mu.Unlock()
	if len(e.watchers) >= max(e.prune, 16) {
		e.sweepLocked()
	}
	e.watchers = append(e.watchers, weak.Make(l))
}

// pin keeps l from being collected as long as neither it nor the hold is over. Like the watchers, pins that are over go
// when the list has doubled.
func (e *Ending) pin(l *life) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause != nil || l.pinned.Load() {
		return
	}
	if len(e.pins) >= max(e.unpin, 16) {
		e.pins = slices.DeleteFunc(e.pins, func(l *life) bool { return l.ctx.Err() != nil })
		e.unpin = 2 * len(e.pins)
	}
	e.pins = append(e.pins, l)
	l.pinned.Store(true)
}

// sweepLocked drops the watchers that are over, so that a hold that lives for days and makes a context per request
// stays small. The next sweep comes when the list has doubled.
func (e *Ending) sweepLocked() {
	kept := e.watchers[:0]
	for _, w := range e.watchers {
		if l := w.Value(); l != nil && l.ctx.Err() == nil {
			kept = append(kept, w)
		}
	}
	clear(e.watchers[len(kept):])
	e.watchers = kept
	e.prune = 2 * len(kept)
}
