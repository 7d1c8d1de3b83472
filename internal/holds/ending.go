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
	cause  error // why it is over; nil while it lasts
	first  watcher
	others *audience // whatever else is told of the end; nil until there is something
}

// A watcher is a life of a context, which ends with the hold.
type watcher struct {
	life   weak.Pointer[life]
	pinned *life // the same, if it must not be collected
}

// over tells whether nobody needs to be told.
func (w watcher) over() bool {
	l := w.life.Value()
	return l == nil || l.ctx.Err() != nil
}

func (w watcher) tell(cause error) {
	if l := w.life.Value(); l != nil {
		l.release(cause)
	}
	runtime.KeepAlive(w.pinned)
}

// An audience is all that is told of the end of a hold, but for the first watcher.
type audience struct {
	watchers []watcher
	prune    int                 // length at which those that are over are swept out
	heirs    []func(cause error) // holds that stand on this one
	askers   []func(who, why string)
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
	first, others := e.first, e.others
	e.first, e.others = watcher{}, nil
	e.mu.Unlock()
	first.tell(cause)
	if others != nil {
		others.tell(cause)
	}
	return true
}

func (a *audience) tell(cause error) {
	for _, w := range a.watchers {
		w.tell(cause)
	}
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

// OnAsk has tell called whenever somebody asks for what is held, until the hold ends. It is for a hold that stands on this one.
func (e *Ending) OnAsk(tell func(who, why string)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cause == nil {
		others := e.othersLocked()
		others.askers = append(others.askers, tell)
	}
}

// Ask tells the holds that stand on this one that somebody asks for what is held.
func (e *Ending) Ask(who, why string) {
	e.mu.Lock()
	var askers []func(who, why string)
	if e.others != nil {
		askers = e.others.askers
	}
	e.mu.Unlock()
	for _, tell := range askers {
		tell(who, why)
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
	e.whileItLasts(l, func() {
		if w := (watcher{life: weak.Make(l)}); e.first.over() {
			e.first = w
		} else {
			e.othersLocked().watch(w)
		}
	})
}

// pin keeps l from being collected as long as neither it nor the hold is over. When the hold is over it ends l: whoever
// is telling the end at this moment may find l collected.
func (e *Ending) pin(l *life) {
	e.whileItLasts(l, func() {
		switch {
		case l.pinned.Swap(true):
		case e.first.life.Value() == l:
			e.first.pinned = l
		default:
			e.othersLocked().watch(watcher{weak.Make(l), l})
		}
	})
}

// whileItLasts calls do with the mutex locked, or ends l, if the hold is over.
func (e *Ending) whileItLasts(l *life, do func()) {
	e.mu.Lock()
	cause := e.cause
	if cause == nil {
		do()
	}
	e.mu.Unlock()
	if cause != nil {
		l.release(cause)
	}
}

// watch adds a watcher. Those that are over are dropped when the list has doubled, so that a hold that lives for days and
// makes a context per request stays small.
func (a *audience) watch(w watcher) {
	if len(a.watchers) >= max(a.prune, 16) {
		a.watchers = slices.DeleteFunc(a.watchers, watcher.over)
		a.prune = 2 * len(a.watchers)
	}
	a.watchers = append(a.watchers, w)
}
