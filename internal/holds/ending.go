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
//
// A hold that lives long, and perhaps among ten thousand others, has one context as a rule. That one costs nothing
// beside the Ending; what more there is to be told is an audience.
type Ending struct {
	mu     sync.Mutex
	cause  error              // why it is over; nil while it lasts
	first  weak.Pointer[life] // the first watcher
	pinned *life              // the same, if it must not be collected
	others *audience          // nil until somebody else is to be told
}

// An audience are those to be told beside the first watcher.
type audience struct {
	watchers []weak.Pointer[life]
	prune    int                 // length at which dead watchers are swept out
	pins     []*life             // watchers that must not be collected
	unpin    int                 // length at which pins that are over are swept out
	heirs    []func(cause error) // holds that stand on this one
}

func (e *Ending) othersLocked() *audience {
	if e.others == nil {
		e.others = &audience{}
	}
	return e.others
}

// End ends the hold for cause, unless it has ended already, and reports whether this call did it.
func (e *Ending) End(cause error) bool {
	e.mu.Lock()
	if e.cause != nil {
		e.mu.Unlock()
		return false
	}
	e.cause = cause
	first, pinned, others := e.first, e.pinned, e.others
	e.first, e.pinned, e.others = weak.Pointer[life]{}, nil, nil
	e.mu.Unlock()
	if l := first.Value(); l != nil {
		l.release(cause)
	}
	runtime.KeepAlive(pinned)
	if others != nil {
		others.tell(cause)
	}
	return true
}

func (a *audience) tell(cause error) {
	for _, w := range a.watchers {
		if l := w.Value(); l != nil {
			l.release(cause)
		}
	}
	runtime.KeepAlive(a.pins)
	for _, tell := range a.heirs {
		tell(cause)
	}
}

// OnEnd has tell called with the cause when the hold ends, at once when it has ended. It is for a hold that stands on
// this one, and is called on the goroutine that ends it, so that nobody finds this hold over and that one in force.
func (e *Ending) OnEnd(tell func(cause error)) {
	e.mu.Lock()
	cause := e.cause
	if cause == nil {
		others := e.othersLocked()
		others.heirs = append(others.heirs, tell)
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
	if over(e.first) {
		e.first, e.pinned = weak.Make(l), nil
		return
	}
	e.othersLocked().watch(l)
}

// over tells whether nobody needs to be told through w.
func over(w weak.Pointer[life]) bool {
	l := w.Value()
	return l == nil || l.ctx.Err() != nil
}

func (a *audience) watch(l *life) {
	if len(a.watchers) >= max(a.prune, 16) {
		a.sweep()
	}
	a.watchers = append(a.watchers, weak.Make(l))
}

// sweep drops the watchers that are over, so that a hold that lives for days and makes a context per request stays
// small. The next sweep comes when the list has doubled.
func (a *audience) sweep() {
	a.watchers = slices.DeleteFunc(a.watchers, over)
	a.prune = 2 * len(a.watchers)
}

// pin keeps l from being collected as long as neither it nor the hold is over. When the hold is over it ends l: whoever
// is telling the end at this moment may find l collected. Like the watchers, pins that are over go when the list has
// doubled.
func (e *Ending) pin(l *life) {
	e.mu.Lock()
	if cause := e.cause; cause != nil {
		e.mu.Unlock()
		l.release(cause)
		return
	}
	defer e.mu.Unlock()
	if l.pinned.Load() {
		return
	}
	l.pinned.Store(true)
	if e.first.Value() == l {
		e.pinned = l
		return
	}
	a := e.othersLocked()
	if len(a.pins) >= max(a.unpin, 16) {
		a.pins = slices.DeleteFunc(a.pins, func(l *life) bool { return l.ctx.Err() != nil })
		a.unpin = 2 * len(a.pins)
	}
	a.pins = append(a.pins, l)
}
