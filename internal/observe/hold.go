package observe

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Hold is a hold of whose acquisition an observer was told. The observer is told once how it ended: of the
// ends that come together, when a lost hold is unlocked for example, the first.
type Hold struct {
	observer redlatch.Observer
	logger   *slog.Logger
	event    redlatch.Event
	long     *alarm // nil without WithLongHold
	over     atomic.Bool
	renewing atomic.Bool // the observer is being told of a renewal
}

// Hold is what the call has acquired; nil if its end is to be told to none.
func (c *Call) Hold() *Hold {
	if c.observer == nil && c.longHold == 0 {
		return nil
	}
	e := c.event
	e.Outcome, e.Path = "", ""
	h := &Hold{observer: c.observer, logger: c.logger, event: e}
	if c.longHold > 0 {
		h.watch(c.longHold, c.of)
	}
	return h
}

// End tells how the hold has ended that was held since then. An error that says that it was lost makes that a
// loss.
func (h *Hold) End(ctx context.Context, kind redlatch.EventKind, since time.Time, err error) {
	if h == nil || !h.over.CompareAndSwap(false, true) {
		return
	}
	h.long.stop()
	e := h.event
	e.Kind, e.Duration, e.Err = kind, time.Since(since), err
	if errors.Is(err, errs.Lost) {
		e.Kind = redlatch.EventLost
	}
	if e.Kind == redlatch.EventLost {
		ctx = context.Background()
		if loss := new(redlatch.LossError); errors.As(err, &loss) {
			e.Reason = loss.Reason
		}
	}
	Tell(ctx, h.observer, h.logger, e)
}

// Renewed tells of an answer to a renewal, or of the error that it has failed with, which was sent then. It
// tells nothing while the observer is still busy with an earlier one: each would take a goroutine more, and
// an observer that blocks gets no time to catch up.
func (h *Hold) Renewed(sent time.Time, err error) {
	if h == nil || h.over.Load() || !h.renewing.CompareAndSwap(false, true) {
		return
	}
	defer h.renewing.Store(false)
	e := h.event
	e.Kind, e.Outcome, e.Duration, e.Err = redlatch.EventRenewed, redlatch.OutcomeRenewed, time.Since(sent), err
	if err != nil {
		if e.Outcome = outcomeOf(err); e.Outcome != redlatch.OutcomeError {
			e.Outcome = redlatch.OutcomeUnavailable
		}
	}
	Tell(context.Background(), h.observer, h.logger, e)
}

// Asked tells that another program asks for the hold to be given back.
func (h *Hold) Asked(who, why string) {
	if h == nil || h.over.Load() {
		return
	}
	e := h.event
	e.Kind, e.Who, e.Why = redlatch.EventAsked, who, why
	Tell(context.Background(), h.observer, h.logger, e)
}

// Tell tells an observer of something that ends no wait. What the observer panics with is logged: it may be
// on a goroutine on which no program could recover, or in the middle of a release.
func Tell(ctx context.Context, observer redlatch.Observer, logger *slog.Logger, e redlatch.Event) {
	if observer == nil {
		return
	}
	lockorder.Unlocked("an observer is called")
	defer func() {
		if value := recover(); value != nil {
			if logger == nil {
				logger = raise.Logger(slog.Default())
			}
			logger.Error("redlatch: an observer has panicked", "panic", raise.Caught(value),
				"lock.primitive", e.Primitive,
				"lock.name", e.Name)
		}
	}()
	observer.Observe(ctx, e)
}

// Happened tells the observer, if there is one, of something that is about no hold.
func Happened(ctx context.Context, set *settings.Settings, e redlatch.Event) {
	Tell(ctx, listener(set), set.Logger, e)
}
