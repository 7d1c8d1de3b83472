// Package life is the life of a hold as the program sees it. Holds of locks, of permits and of several locks
// at once have it in common; what they have in Redis, and how they give it back, is their own.
//
//	           Unlock, Leave
//	acquired ────────────────► released
//	    │  └─ unreachable for the program ──► forgotten
//	    └──── its server, or the clock ─────► lost
//
// A hold ends once, and in this order: its contexts end, what keeps it stops, the log has a line, the
// observer is told. The first end is the one that is told.
//
// A [Hold] has the contexts and the observer of one hold. A [Loss] may be that of several that stand and fall
// together. Neither has a mutex: what ends a hold is decided under that of its owner, and told without it.
package life

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A Hold is embedded in each hold.
type Hold struct {
	ending holds.Ending
	Since  watchdog.Moment
	told   atomic.Pointer[observe.Hold] // nil: no observer was told of it
}

// Ending is what tells the contexts of the hold.
func (h *Hold) Ending() *holds.Ending { return &h.ending }

// UntilAtMost is the moment up to which the hold is trusted, or that at which it has ended. trust is asked
// after the time, because a suspension moves it back.
func (h *Hold) UntilAtMost(trust func() time.Time) time.Time {
	now := clock.Now()
	until := trust()
	if h.ending.Cause() != nil && now.Before(until) {
		return now
	}
	return until
}

// EndsAfter is so long after the hold was acquired; zero for 0, which is no limit.
func (h *Hold) EndsAfter(most time.Duration) time.Time {
	if most == 0 {
		return time.Time{}
	}
	return h.Since.Time().Add(most)
}

// Acquired has the observer of the call know of the hold. If the observer panics no call gets the hold, and
// decline gives it back.
func (h *Hold) Acquired(call *observe.Call, e redlatch.Event, decline func()) {
	returned := false
	defer raise.Unless(&returned, decline)
	call.Acquired(e)
	returned = true
	h.Told(call.Hold())
}

// Told has the observer, which knows the hold as of, know how it ends. It may have been lost before.
func (h *Hold) Told(of *observe.Hold) {
	h.told.Store(of)
	if lost, ok := h.ending.Cause().(*redlatch.LossError); ok {
		h.Finish(context.Background(), redlatch.EventLost, lost)
	}
}

// Finish has the observer know how the hold has ended, once. An error that says that it was lost makes that a
// loss.
func (h *Hold) Finish(ctx context.Context, kind redlatch.EventKind, err error) {
	h.told.Load().End(ctx, kind, h.Since.Time(), err)
}

// Observed tells whether an observer knows the hold.
func (h *Hold) Observed() bool { return h.told.Load() != nil }

// Renewed has the observer know of a renewal.
func (h *Hold) Renewed(sent time.Time, err error) { h.told.Load().Renewed(sent, err) }

// Asked has the observer know that another process asks for what is held.
func (h *Hold) Asked(who, why string) { h.told.Load().Asked(who, why) }

// EndForgotten ends the contexts of a hold that the program has dropped. It has no context of the hold any
// more, but a goroutine may still wait on the channel that a context's Done returned.
func (h *Hold) EndForgotten(name, owner string) bool {
	return h.ending.End(&redlatch.LossError{Name: name, Owner: owner, Reason: redlatch.ReasonForgotten, At: time.Now()})
}

// Forgotten has the log and the observers know, in these words, that the program has dropped the hold that it
// has acquired there.
func (of Of) Forgotten(words string, there *holds.Place, name, owner string) {
	holds.Report(of.Logger, "redlatch: "+words, there, of.about(name, owner)...)
	for _, h := range of.Holds {
		h.Finish(context.Background(), redlatch.EventForgotten, nil)
	}
}

// Terms are those on which the watchdog keeps what was asked for with set, and is trusted until then. What it
// does not renew it looks at each period, to notice when it is taken away.
func Terms(set *settings.Settings, renews bool, lease time.Duration, trusted, end time.Time) watchdog.Terms {
	t := watchdog.Terms{Trusted: trusted, End: end, Every: set.WatchdogTimeout / 3, Margin: watchdog.Margin(lease)}
	if renews {
		t.Lease = set.WatchdogTimeout
		t.Margin = watchdog.Margin(t.Lease)
	}
	return t
}
