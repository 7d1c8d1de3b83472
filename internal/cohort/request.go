package cohort

import "time"

// A Request is what a waiter says to holders of its own process that might give it what it waits for.
type Request struct {
	Who any // what a holder needs to know of the waiter before it gives

	// Expected says that a holder of this process has the thing now, and will give it to the first waiter or
	// wake the queue. The waiter does not ask meanwhile, unless Poll passes without news.
	Expected bool
	Poll     time.Duration

	Grant any // what the waiter was given
}

// A waiter is one call that waits.
type waiter struct {
	number  uint64
	since   time.Time
	request *Request    // nil: it cannot be given anything
	signal  chan signal // capacity 2: it becomes the head, and then is served
	err     error       // what it returns when it has been served; set before the send
	state   state       // guarded by Queue.mu
}

// A state is how far a waiter is.
//
//	queued ──the head asks──► asking ──answered in vain──► queued
//	   │ ▲                       └── answered, or failed ─► gone
//	   │ └── the claim ends ──┐
//	   └── a holder claims ──► claimed ──► served: it was given the thing
//	                              └── its context ends ──► leaving ──the claim ends──► gone
//
// Every other state becomes gone when the context ends. An attempt for the whole queue serves the other
// waiters too.
type state int

const (
	queued  state = iota
	asking        // its attempt is under way
	claimed       // a holder may be about to give it the thing
	leaving       // it has left while it was claimed, which the claimer finds out
	served        // it has been given the thing, or an attempt was for the whole queue
	gone
)

// A signal ends the sleep of a waiter.
type signal int

const (
	lead signal = iota // it is the head now
	done               // it has been served
)

// serveLocked ends the wait. A waiter that has left is not told.
func (w *waiter) serveLocked(err error) {
	w.state, w.err = served, err
	w.signal <- done
}

// leaveLocked has the waiter leave, and reports whether it had been served before.
func (w *waiter) leaveLocked() (wasServed bool) {
	switch w.state {
	case served:
		return true
	case claimed:
		w.state = leaving
	default:
		w.state = gone
	}
	return false
}

// unclaimLocked ends a claim without a grant.
func (w *waiter) unclaimLocked() {
	switch w.state {
	case claimed:
		w.state = queued
	case leaving:
		w.state = gone
	}
}
