package observe

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Call is one call that waits for something.
type Call struct {
	Context context.Context // what the observer has made of the caller's

	of       Subject
	observer redlatch.Observer // nil where the log alone is told of what lasts for long
	logger   *slog.Logger
	event    redlatch.Event // what its events have in common
	start    time.Time
	slow     *alarm        // nil without WithSlowWait
	longHold time.Duration // of WithLongHold
	ended    bool
}

// Begin tells the observer that a call begins to wait for what is called so, for so many permits of a
// semaphore. It returns nil if there is no observer, and nothing to be told of what lasts for long.
func Begin(ctx context.Context, set *settings.Settings, of Subject, kind redlatch.Kind, name string,
	permits int64) *Call {
	observer := listener(set)
	if observer == nil && (set.Logger == nil || set.SlowWait == 0 && set.LongHold == 0) {
		return nil
	}
	return begin(ctx, set, observer, of, redlatch.Event{Primitive: kind, Name: name, Permits: permits})
}

func begin(ctx context.Context, set *settings.Settings, observer redlatch.Observer, of Subject,
	e redlatch.Event) *Call {
	c := &Call{Context: ctx, of: of, observer: observer, logger: set.Logger, event: e, start: time.Now(),
		longHold: set.LongHold}
	if observer != nil {
		e.Kind = redlatch.EventWaiting
		lockorder.Unlocked("an observer is called")
		if within := observer.WaitStart(ctx, e); within != nil {
			c.Context = within
		}
	}
	if set.SlowWait > 0 {
		c.watch(set.SlowWait)
	}
	return c
}

// listener is the observer that is to be told now, nil if there is none.
func listener(set *settings.Settings) redlatch.Observer {
	if set.Observer == nil && !set.Unobserved {
		return redlatch.DefaultObserver()
	}
	o, _ := set.Observer.(redlatch.Observer)
	return o
}

// Since has the wait count from start.
func (c *Call) Since(start time.Time) {
	if c != nil {
		c.start = start
	}
}

// Refused tells how the wait has ended that got err.
func (c *Call) Refused(err error) {
	if c == nil {
		return
	}
	e := c.event
	e.Kind, e.Outcome, e.Err = redlatch.EventRefused, outcomeOf(err), err
	c.end(e)
}

// Opened tells that the latch is open.
func (c *Call) Opened() {
	if c == nil {
		return
	}
	e := c.event
	e.Kind, e.Outcome = redlatch.EventOpened, redlatch.OutcomeAcquired
	c.end(e)
}

// Acquired tells that the wait has ended with what e says of it: the owner, the token, the path, and whether
// it is a re-entry.
func (c *Call) Acquired(e redlatch.Event) {
	e.Kind, e.Outcome = redlatch.EventAcquired, redlatch.OutcomeAcquired
	if e.Reentry {
		e.Outcome = redlatch.OutcomeReentered
	}
	e.Primitive, e.Name, e.Permits = c.event.Primitive, c.event.Name, c.event.Permits
	c.event = e
	c.end(e)
}

func (c *Call) end(e redlatch.Event) {
	c.ended = true // before: an observer that panics is not told again
	c.slow.stop()
	e.Duration = time.Since(c.start)
	if c.observer != nil {
		lockorder.Unlocked("an observer is called")
		c.observer.WaitEnd(c.Context, e)
	}
}

var errLeft = errors.New("redlatch: the call has panicked, or has ended its goroutine")

// Left is to be deferred. It tells that the call has ended by a panic or a runtime.Goexit, if it has not told
// how it ended.
func (c *Call) Left() {
	if c != nil && !c.ended {
		c.Refused(errLeft)
	}
}

func outcomeOf(err error) redlatch.Outcome {
	switch {
	case errors.Is(err, context.Canceled):
		return redlatch.OutcomeCanceled
	case errors.Is(err, errs.Unavailable): // before the next one, for the time-out of a dial also calls itself so
		return redlatch.OutcomeUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return redlatch.OutcomeTimeout
	case errors.Is(err, errs.NotAcquired):
		return redlatch.OutcomeBusy
	}
	return redlatch.OutcomeError
}
