package redlatchtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/rootapi"
)

// Terms say what a hold is to be. The zero value is a hold that lasts until it is unlocked.
type Terms struct {
	Name  string        // of the lock, in errors
	Owner string        // what Hold.Owner returns
	Token int64         // what Hold.Token returns, as of a fenced lock
	Lease time.Duration // the hold is lost after that time unless Extend lengthens it; 0: it lasts, as if it were renewed

	// Unlock is called by the first Unlock of a hold that is not lost, after the contexts have ended, and decides what
	// that returns. Nil stands for a function that returns nil.
	Unlock func(ctx context.Context) error

	// Extend is called by each Extend of a hold that is in force. If it returns an error nothing is extended. Nil stands
	// for a function that returns nil.
	Extend func(ctx context.Context, lease time.Duration) error
}

// NewHold makes a hold, and a function that has it lost: the hold's contexts end with a *redlatch.LossError that has the
// cause, which may be nil, and Unlock returns the same error. On a hold that is over the function does nothing.
func NewHold(terms Terms) (hold *redlatch.Hold, lose func(cause error)) {
	f := newFake(terms)
	f.start()
	return rootapi.Hold[*redlatch.Hold](f, holds.Here()), func(cause error) { f.lose(redlatch.ReasonTaken, byTheTest, cause) }
}

// byTheTest is why a hold was lost that the test has lost.
const byTheTest = "the test has it lost"

func newFake(terms Terms) *fake {
	f := &fake{terms: terms}
	if terms.Lease > 0 {
		f.until = time.Now().Add(terms.Lease)
	}
	return f
}

// start has the lease run out. Whoever makes the hold calls it last: the hold may end at once.
func (f *fake) start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.until.IsZero() && f.lost == nil && !f.released {
		f.timer = time.AfterFunc(time.Until(f.until), f.expire)
	}
}

// renewed is how long a hold without a lease says that it still lasts: as if it had just been renewed.
const renewed = 30 * time.Second

// A fake is the inner side of a hold.
type fake struct {
	terms   Terms
	reentry bool // within another hold of its Locker
	told    atomic.Pointer[observe.Hold]
	limit   time.Time // no lease reaches past it; zero: there is none
	ending  holds.Ending
	timer   *time.Timer // runs expire; nil without a lease

	// onEnd is called when the hold ends otherwise than by Unlock: why, and for how long the lock stays taken. It may be nil.
	onEnd func(why error, left time.Duration)

	mu       sync.Mutex
	until    time.Time // end of the lease, or the moment of the loss; zero: neither
	lost     *redlatch.LossError
	released bool
}

func (f *fake) Owner() string         { return f.terms.Owner }
func (f *fake) Token() int64          { return f.terms.Token }
func (f *fake) Ending() *holds.Ending { return &f.ending }

func (f *fake) Object() (primitive, name string) { return "lock", f.terms.Name }

func (f *fake) Until() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		return time.Now().Add(renewed)
	}
	return f.until
}

// overLocked notes that the hold is not in force from now on.
func (f *fake) overLocked() {
	if f.timer != nil {
		f.timer.Stop()
	}
	if now := time.Now(); f.until.IsZero() || now.Before(f.until) {
		f.until = now
	}
}

// Unlock calls Terms.Unlock, once.
func (f *fake) Unlock(ctx context.Context) error {
	f.mu.Lock()
	again, lost := f.released, f.lost
	f.released = true
	f.overLocked()
	f.mu.Unlock()
	f.ending.End(redlatch.ErrReleased)
	switch {
	case again:
		return fmt.Errorf("%w: lock %q was unlocked before by this hold", redlatch.ErrReleased, f.terms.Name)
	case lost != nil:
		return lost
	case f.terms.Unlock != nil:
		return f.terms.Unlock(ctx)
	}
	return nil
}

// Extend calls Terms.Extend and moves the end of the lease.
func (f *fake) Extend(ctx context.Context, lease time.Duration) error {
	if err := f.over(); err != nil {
		return err
	}
	if f.terms.Extend != nil {
		if err := f.terms.Extend(ctx, lease); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	until := time.Now().Add(lease)
	if !f.limit.IsZero() && until.After(f.limit) {
		until = f.limit
	}
	if f.timer != nil && f.lost == nil && !f.released && until.After(f.until) {
		f.until = until
		f.timer.Reset(time.Until(until))
	}
	return nil
}

// over is why the hold is not in force, nil while it is.
func (f *fake) over() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.lost != nil:
		return f.lost
	case f.released:
		return fmt.Errorf("%w: lock %q cannot be extended any more", redlatch.ErrReleased, f.terms.Name)
	}
	return nil
}

// expire is run by the timer, perhaps at the moment at which the lease is extended.
func (f *fake) expire() {
	f.mu.Lock()
	over, reason := !time.Now().Before(f.until), redlatch.ReasonLeaseOver
	if !f.limit.IsZero() && !f.until.Before(f.limit) {
		reason = redlatch.ReasonLimitOver
	}
	f.mu.Unlock()
	if over {
		f.lose(reason, "", nil)
	}
}

func (f *fake) lose(reason redlatch.LossReason, detail string, cause error) {
	f.mu.Lock()
	if f.released || f.lost != nil {
		f.mu.Unlock()
		return
	}
	f.lost = &redlatch.LossError{Name: f.terms.Name, Owner: f.terms.Owner, Reason: reason, Detail: detail, At: time.Now(), Cause: cause}
	f.overLocked()
	f.mu.Unlock()
	f.ending.End(f.lost)
	if f.onEnd != nil {
		f.onEnd(f.lost, 0)
	}
}

// Leave ends the hold. The lock of the test is not told, as Redis is not.
func (f *fake) Leave() {
	left := time.Until(f.Until())
	f.mu.Lock()
	again := f.released || f.lost != nil
	f.released = true
	f.overLocked()
	f.mu.Unlock()
	f.ending.End(redlatch.ErrReleased)
	if f.onEnd != nil && !again {
		f.onEnd(redlatch.ErrReleased, left)
	}
}

// Forgotten ends a hold that the program has dropped. The lock of the test is not told, as Redis is not.
func (f *fake) Forgotten(*holds.Place) { f.lose(redlatch.ReasonForgotten, "", nil) }
