package holds

import (
	"runtime"
	"slices"
	"weak"

	"github.com/redlatch/redlatch/internal/lockorder"
)

// An Ending is the moment at which a hold is over. Contexts made from the hold are told through weak
// pointers: a context that nobody can reach any more needs no telling, and must not keep the public Hold
// alive from here, or a hold that the program forgot would never be noticed. Those that somebody may wait for
// are pinned besides.
//
// A hold that lives long, and perhaps among ten thousand others, has one context as a rule. That one costs
// nothing beside the Ending; those that there are besides are a crowd.
type Ending struct {
	mu     lockorder.Mutex[lockorder.Ending]
	cause  error // why it is over; nil while it lasts
	heir   Heir  // the hold that stands on this one; nil: none does
	first  watcher
	others *crowd // of watchers; nil until there is one more than the first
}

// An Heir is a hold that stands on others: a composite, on those of its members. A hold has one heir at most.
type Heir interface {
	Ended(cause error)     // one of them is over
	Asked(who, why string) // somebody asks for what one of them holds
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

// A crowd is all watchers but the first.
type crowd struct {
	watchers []watcher
	prune    int // length at which those that are over are swept out
}

func (e *Ending) othersLocked() *crowd {
	if e.others == nil {
		e.others = &crowd{}
	}
	return e.others
}

// End ends the hold for cause, unless it has ended already, and reports whether this call did it.
func (e *Ending) End(cause error) bool {
	lockorder.Unlocked("a hold ends")
	e.mu.Lock()
	if e.cause != nil {
		e.mu.Unlock()
		return false
	}
	e.cause = cause
	heir, first, others := e.heir, e.first, e.others
	e.heir, e.first, e.others = nil, watcher{}, nil
	e.mu.Unlock()
	first.tell(cause)
	if others != nil {
		for _, w := range others.watchers {
			w.tell(cause)
		}
	}
	if heir != nil {
		heir.Ended(cause)
	}
	return true
}

// Bequeath has heir told of the end of the hold, at once when it has ended, and of those who ask for it until
// then. It is told of the end on the goroutine that ends the hold, so that nobody finds this hold over and
// that one in force.
func (e *Ending) Bequeath(heir Heir) {
	e.mu.Lock()
	cause := e.cause
	if cause == nil {
		e.heir = heir
	}
	e.mu.Unlock()
	if cause != nil {
		lockorder.Unlocked("a hold ends")
		heir.Ended(cause)
	}
}

// Ask tells the heir that somebody asks for what is held.
func (e *Ending) Ask(who, why string) {
	e.mu.Lock()
	heir := e.heir
	e.mu.Unlock()
	if heir != nil {
		heir.Asked(who, why)
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

// pin keeps l from being collected as long as neither it nor the hold is over. When the hold is over it ends
// l: whoever is telling the end at this moment may find l collected.
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

// watch adds a watcher. Those that are over are dropped when the list has doubled, so that a hold that lives
// for days and makes a context per request stays small.
func (c *crowd) watch(w watcher) {
	if len(c.watchers) >= max(c.prune, 16) {
		c.watchers = slices.DeleteFunc(c.watchers, watcher.over)
		c.prune = 2 * len(c.watchers)
	}
	c.watchers = append(c.watchers, w)
}
