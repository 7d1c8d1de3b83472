package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Grace is how long the members that remain after a loss are kept for Unlock, while the work notices that its
// context has ended.
const Grace = 5 * time.Second

// Late has a channel for each member that was asked and not waited for. It is closed when that has answered,
// and its hold, if it granted, is under the composite's or given back.
type Late map[any]chan struct{}

// A Hold is one acquisition of a composite. It implements holds.Hold.
type Hold struct {
	life.Hold
	call *Call
	late Late

	streak *Streak       // nil: it is not handed on; see streak.go
	holder cohort.Holder // in that case
	local  bool          // from a hold of this process, without a command

	mu      lockorder.Mutex[lockorder.Composite]
	members []holds.Member // a slice that others have may be appended to, and is not changed
	over    int            // how many of them have ended by themselves
	retired bool           // Unlock was called, or the program has dropped the hold
	given   bool           // the members are given back, or on the way
	loss    life.Loss
	grace   *time.Timer // after a loss gives back what is left; nil: nothing was lost
}

var (
	_ holds.Hold = (*Hold)(nil)
	_ holds.Heir = (*Hold)(nil)
)

// Hold makes the hold of the call, of members that were acquired from since on. It may be lost when it is
// returned. streak is nil where it is not handed on.
func (c *Call) Hold(since time.Time, members []holds.Member, streak *Streak, late Late) *Hold {
	h := &Hold{call: c, members: members, streak: streak, late: late}
	h.Since = watchdog.MomentOf(since)
	if streak != nil {
		streak.current.Store(h)
		h.holder = cohort.Holder{Since: h.Since, Gives: true}
		c.registry().Hold(c.Line, &h.holder) // the calls of this process wait for what h does
	}
	for _, m := range members {
		m.Ending().Bequeath(h)
	}
	return h
}

// Add puts one more member under the hold, or under the one to which that was handed on. It reports false
// when that hold is over, or is being handed on at this moment; the member is the caller's then.
func (h *Hold) Add(m holds.Member) bool {
	if h.streak != nil {
		h = h.streak.current.Load()
	}
	h.mu.Lock()
	kept := h.keptLocked()
	if kept {
		h.members = append(h.members, m)
	}
	h.mu.Unlock()
	if kept {
		m.Ending().Bequeath(h)
	}
	return kept
}

// Local tells whether the hold came from another one of this process without a command.
func (h *Hold) Local() bool { return h.local }

// Awaits is closed when what key stands for has answered to this hold; nil when it was not left unanswered.
func (h *Hold) Awaits(key any) <-chan struct{} { return h.late[key] }

// standsOn are the members, and kept tells whether the hold is in force and the program still has it.
func (h *Hold) standsOn() (members []holds.Member, kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.members, h.keptLocked()
}

func (h *Hold) keptLocked() bool { return !h.retired && h.loss.Err() == nil }

func (h *Hold) kept() bool {
	_, kept := h.standsOn()
	return kept
}

// Until is the moment up to which at least as many members as are needed are in force, or that at which the
// hold ended. A member may be a composite too, so they are asked without the mutex.
func (h *Hold) Until() time.Time {
	return h.UntilAtMost(func() time.Time {
		members, _ := h.standsOn()
		ends := make([]time.Time, len(members))
		for i, m := range members {
			ends[i] = m.Until()
		}
		slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
		return ends[h.call.Need-1]
	})
}

func (h *Hold) Object() (primitive, name string) { return string(h.call.Kind), h.call.Name }

// Owner and Token are nothing: each member has its own.
func (h *Hold) Owner() string { return "" }
func (h *Hold) Token() int64  { return 0 }

// Extend lengthens the lease of enough members.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	members, kept := h.standsOn()
	var failures []error
	if kept {
		failures = h.call.extend(ctx, members, h.call.Need, lease)
	}
	switch lost := h.loss.Err(); { // a member that is found gone tells before it returns
	case lost != nil:
		return lost
	case !kept:
		return fmt.Errorf("%w: %s cannot be extended any more", errs.Released, h.call.what())
	case failures != nil:
		return fmt.Errorf("redlatch: extending the lease of %s: %w", h.call.what(),
			errs.Part(errs.Join(failures...), ""))
	}
	return nil
}
