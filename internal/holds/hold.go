// Package holds is the leaf on which both the public Hold and the machinery behind it stand: what a hold can do, how
// its end reaches the contexts made from it, and how a context carries it to a second acquisition.
package holds

import (
	"context"
	"sync/atomic"
	"time"
)

// A Hold is the machinery's side of one acquisition. The public Hold is a thin wrapper around it, so that the
// machinery never keeps the wrapper alive and notices when the program has dropped it.
type Hold interface {
	Unlock(ctx context.Context) error
	Extend(ctx context.Context, lease time.Duration) error
	Owner() string
	Token() int64
	Until() time.Time
	Ending() *Ending
	// Leave ends the hold without a command: the lock ends with its lease.
	Leave()
	// Forgotten is called when the wrapper, and every context made from it, is unreachable without an Unlock. The lock was
	// acquired there.
	Forgotten(there *Place)
}

// A Composite is a hold of several locks. A context that carries it re-enters each of them.
type Composite interface {
	Hold

	// Members are the holds that it stands on and that are in force, in the order in which they were acquired. A composite
	// that is over has none.
	Members() []Hold
}

// A Telling is how far the observer of a hold knows of it. The observer is told of each hold twice: that it was acquired,
// and how it ended. Of the ends that come together, when a lost hold is unlocked for example, it is told the first.
type Telling struct{ stage atomic.Int32 }

const (
	acquired = 1 + iota // and 0 before that
	ended
)

// Acquired notes that the observer has been told of the acquisition.
func (t *Telling) Acquired() { t.stage.Store(acquired) }

// End reports whether the observer is to be told of the end, and notes that it has been.
func (t *Telling) End() bool { return t.stage.CompareAndSwap(acquired, ended) }
