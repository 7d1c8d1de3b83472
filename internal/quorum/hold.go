package quorum

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/settings"
)

// Grace is how long the members that remain after a loss are kept for Unlock, while the work notices that its context
// has ended.
const Grace = 5 * time.Second

// A Member is one of the holds that a Hold stands on.
type Member struct {
	Name   string // for error texts
	Server bool   // that is one of a server, and not of a lock
	holds.Hold
}

func (m Member) String() string {
	if m.Server {
		return "server " + m.Name
	}
	return strconv.Quote(m.Name)
}

// Terms are what a composite says about its holds.
type Terms struct {
	Noun  string        // "multi-lock", for error texts and events
	Name  string        // of the composite
	Need  int           // fewer members are a loss
	Slack time.Duration // kept off the members' trust
	Set   *settings.Settings

	// Late are closed when what they are the keys of has answered, and its member, if it granted, is under the hold or
	// given back. They are of members that were asked and not waited for; nil where there are none.
	Late map[any]chan struct{}

	// Cohort is where the calls of this process wait that the hold may be handed on to; nil where it is not handed on.
	Cohort *Cohort
}

// A Hold is one acquisition of a composite. It implements holds.Hold.
type Hold struct {
	terms  Terms
	since  time.Time
	ending holds.Ending

	streak *streak       // nil: it is not handed on; see streak.go
	holder cohort.Holder // in that case
	local  bool          // from a hold of this process, without a command

	told    atomic.Pointer[observe.Hold] // nil: nobody was told of it; see tell.go
	mu      sync.Mutex
	members []Member
	over    int                 // how many of them have ended by themselves
	retired bool                // Unlock was called, or the program has dropped the hold
	given   bool                // the members are given back, or on the way
	lost    *redlatch.LossError // why it was lost; nil while it was not
	expired bool                // it was lost by its own clock
	timer   *time.Timer         // ends the hold when its trust does, after a loss gives back; nil where nothing is to be done
}

var (
	_ holds.Hold = (*Hold)(nil)
	_ holds.Heir = (*Hold)(nil)
)

// New makes a hold of members that were acquired from since on. It may be lost when it is returned.
func New(terms Terms, since time.Time, members []Member) *Hold {
	h := &Hold{terms: terms, since: since, members: slices.Clone(members)}
	if terms.Cohort != nil {
		h.streak = &streak{cohort: *terms.Cohort, current: h}
		h.streak.cohort.Streak.Began = clock.Now()
	}
	h.begin()
	return h
}

// begin has the hold end with its members.
func (h *Hold) begin() {
	if h.streak != nil {
		h.announce()
	}
	h.mu.Lock()
	members := h.members
	if h.terms.Slack > 0 {
		// Without slack the members' own watchdogs end it in time.
		h.timer = time.AfterFunc(time.Until(h.trustLocked()), h.check)
	}
	h.mu.Unlock()
	for _, m := range members {
		m.Ending().Bequeath(h)
	}
}

// Add puts one more member under the hold, or under the one to which that was handed on. It reports false when that hold is
// over; the member is the caller's then.
func (h *Hold) Add(m Member) bool {
	current, added := h.add(m)
	if added {
		m.Ending().Bequeath(current)
	}
	return added
}

func (h *Hold) add(m Member) (current *Hold, added bool) {
	if s := h.streak; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		h = s.current
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.retired || h.lost != nil {
		return nil, false
	}
	h.members = append(h.members, m)
	return h, true
}

// Local tells whether the hold came from another one of this process without a command.
func (h *Hold) Local() bool { return h.local }

// Awaits is closed when what key stands for has answered to this hold; nil when it was not left unanswered.
func (h *Hold) Awaits(key any) <-chan struct{} { return h.terms.Late[key] }

// trustLocked is the moment up to which at least as many members as are needed are in force.
func (h *Hold) trustLocked() time.Time {
	ends := make([]time.Time, len(h.members))
	for i, m := range h.members {
		ends[i] = m.Until()
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	return ends[h.terms.Need-1].Add(-h.terms.Slack)
}

// Until is the trust, or the moment at which the hold ended.
func (h *Hold) Until() time.Time {
	h.mu.Lock()
	until := h.trustLocked()
	h.mu.Unlock()
	if now := time.Now(); h.ending.Cause() != nil && now.Before(until) {
		return now
	}
	return until
}

func (h *Hold) Object() (primitive, name string) { return h.terms.Noun, h.terms.Name }

// Owner and Token are nothing: each member has its own.
func (h *Hold) Owner() string         { return "" }
func (h *Hold) Token() int64          { return 0 }
func (h *Hold) Ending() *holds.Ending { return &h.ending }

// log is nil where the program wants none.
func (h *Hold) log() *slog.Logger {
	if h.terms.Set.Logger == nil {
		return nil
	}
	return h.terms.Set.Logger.With("lock.name", h.terms.Name, "lock.primitive", h.terms.Noun)
}

// Extend lengthens the lease of enough members.
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	h.mu.Lock()
	retired, lost := h.retired, h.lost
	members := slices.Clone(h.members)
	h.mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case retired:
		return fmt.Errorf("%w: %s %q cannot be extended any more", errs.Released, h.terms.Noun, h.terms.Name)
	}
	failures := extend(ctx, h.log(), members, h.terms.Need, lease)
	h.mu.Lock()
	lost = h.lost // a member that is found gone tells before it returns
	h.mu.Unlock()
	switch {
	case lost != nil:
		return lost
	case failures != nil:
		return fmt.Errorf("redlatch: extending the lease of %s %q: %w", h.terms.Noun, h.terms.Name, errors.Join(failures...))
	}
	return nil
}

// kept reports whether the hold is in force and somebody still has it.
func (h *Hold) kept() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.retired && h.lost == nil
}
