package permitsemaphore

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/holds"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/scripts"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A grant is the machinery's side of a Permit. The session, the watchdog and parent contexts refer to it
// alone, so that a Permit the program has dropped can be noticed.
type grant struct {
	semaphore *Semaphore
	set       *settings.Settings
	asking    *asking // as long as it is asked for
	first     string  // of the ids, also when it has been released: what events call it by; none: it has no permits
	life.Hold
	news     time.Time // before Redis was asked when it confirmed the ids
	seen     int64     // what inspections was before that
	swapped  bool      // its ids were made for waiters of these terms, and no program has had them
	ticket   watchdog.Ticket
	changing chan struct{} // capacity 1: changes of the lease come one after another

	mu       lockorder.Mutex[lockorder.Grant]
	ids      []string      // those not given back
	leaving  []string      // those of them that are being released by id
	parting  chan struct{} // closed when none is any more; nil: no call waits for that
	calls    int           // that are under way by an id
	shown    bool          // the program has been told the ids
	changed  bool          // the lease was changed, or may have been
	until    time.Time     // once it is released: up to when it was trusted
	dropped  bool          // the Permit has become unreachable
	there    *holds.Place  // where a dropped one was acquired
	look     *time.Timer   // for a dropped one that is not reported yet
	lease    time.Duration // what was asked for last, as far as that was confirmed
	owed     time.Duration // for how long the release is repeated of leases that may be in force; 0: as lease says
	renewing bool          // the watchdog extends the lease
	released bool
	loss     life.Loss
}

// Client tells a test where it is still held.
func (g *grant) Client() any { return g.semaphore.counter.Session.Client }

func (g *grant) Object() (primitive, name string) {
	return string(redlatch.KindPermitSemaphore), g.semaphore.Name()
}

func newGrant(s *Semaphore, set *settings.Settings, ids []string) *grant {
	first := ""
	if len(ids) > 0 {
		first = ids[0]
	}
	g := &grant{semaphore: s, set: set, ids: ids, first: first, changing: make(chan struct{}, 1),
		lease: set.FirstLease(), seen: inspections.Load()}
	switch {
	case set.NoExpiry:
		g.lease = NoExpiry
	case set.Lease == 0:
		g.renewing = true
	}
	return g
}

func (g *grant) terms(trusted, end time.Time) watchdog.Terms {
	return life.Terms(g.set, g.renewing, g.lease, trusted, end)
}

// forever is how long a permit without expiry is trusted, unless a check finds it gone.
const forever = 100 * 365 * 24 * time.Hour

// trust is how long a lease is believed in that was asked for at a moment.
func trust(sent time.Time, lease time.Duration) time.Time {
	if lease == NoExpiry {
		return sent.Add(forever)
	}
	return watchdog.Trusted(sent, lease)
}

// end is zero, or where WithMaxHold ends the grant.
func (g *grant) end() time.Time { return g.EndsAfter(g.set.MaxHold) }

// Owner is the first id, as programs see it.
func (g *grant) Owner() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ids) == 0 {
		return ""
	}
	return text(g.ids[0])
}

func (g *grant) names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return texts(g.ids)
}

func (g *grant) Token() int64 { return 0 }

func (g *grant) Until() time.Time {
	return g.UntilAtMost(func() time.Time {
		if g.first == "" { // it has no permits, and never loses them
			return clock.Now().Add(forever)
		}
		return g.ticket.TrustedUntil()
	})
}

// Batch puts the grant with those that are renewed by the same script in the same slot.
func (g *grant) Batch() watchdog.Batch {
	return g.semaphore.counter.Session.BatchOf("permit", g.semaphore.counter.Key)
}

// Log is where trouble with the renewal is told.
func (g *grant) Log() *slog.Logger {
	return session.Logger(g.set.Logger).With("permit semaphore", g.semaphore.Name())
}

// idsPerRenewal bounds the work of one script, whatever the number of permits in a batch.
const idsPerRenewal = 2000

// Renewal renews the first grants of one batch.
func (g *grant) Renewal(tickets []*watchdog.Ticket) (scripts.Command[scripts.Kept], int) {
	now := time.Now()
	var renewals []script.Renewal
	for ids := 0; len(renewals) < len(tickets) && (ids == 0 || ids < idsPerRenewal); {
		t := tickets[len(renewals)]
		other := t.Owner().(*grant)
		other.mu.Lock()
		r := script.Renewal{Of: other.semaphore.keys, IDs: slices.Clone(other.ids), Lease: t.Lease(now)}
		other.mu.Unlock()
		renewals = append(renewals, r)
		ids += len(r.IDs)
	}
	return scripts.Map(script.Renew(renewals), func(ids scripts.Kept) scripts.Kept {
		kept := scripts.Kept{Alive: make([]bool, len(renewals)), Looked: ids.Looked}
		first := 0
		for i, r := range renewals {
			missing := tickets[i].Owner().(*grant).missing(r.IDs, ids.Alive[first:first+len(r.IDs)])
			kept.Alive[i] = len(missing) == 0
			for _, at := range missing {
				if text, ok := ids.Notices[first+at]; ok {
					if kept.Notices == nil {
						kept.Notices = map[int]string{}
					}
					kept.Notices[i] = text
				}
			}
			first += len(r.IDs)
		}
		return kept
	}), len(renewals)
}

// missing are the ids, by their place, that are not there and should be. One that is being released by its id
// may be gone.
func (g *grant) missing(ids []string, there []bool) (missing []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, id := range ids {
		if !there[i] && slices.Contains(g.ids, id) && !slices.Contains(g.leaving, id) {
			missing = append(missing, i)
		}
	}
	return missing
}

// leave takes the grant out of the watchdog and of what can be found by id.
func (g *grant) leave() {
	g.semaphore.counter.Session.Watchdog.Forget(&g.ticket)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.ids {
		g.semaphore.counter.Session.Own.Delete(id)
	}
}

// overLocked tells whether the grant was released or lost.
func (g *grant) overLocked() bool { return g.released || g.loss.Err() != nil }

// endAs ends the grant, without a command, in the way that the observer has kind for.
func (g *grant) endAs(ctx context.Context, kind redlatch.EventKind) {
	g.Ending().End(errs.Released)
	g.leave()
	g.Finish(ctx, kind, nil)
}

// Leave ends the grant without a command: its permits end with their lease, or are released by their ids.
func (g *grant) Leave() {
	g.mu.Lock()
	over := g.overLocked()
	g.released = g.released || !over
	g.mu.Unlock()
	if !over {
		g.endAs(context.Background(), redlatch.EventLeft)
	}
}

var _ holds.Hold = (*grant)(nil)
var _ session.Renewer = (*grant)(nil)
