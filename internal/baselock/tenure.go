package baselock

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// A tenure is what Redis has given to this process in one field, which bears the identity of an owner. It
// does not change while the lock goes from tenant to tenant. A program may have ten thousand tenures: what
// few need is behind a pointer, and the first tenant within the tenure.
type tenure struct {
	base   *Base // on which it was asked for
	id     string
	entry  watchdog.Ticket // kept from the grant until the release; what is forgotten is never kept again
	host   *tenure         // nil, or that on the other side within which this one is
	streak *cohort.Streak  // nil, or that of the hand-offs of which it is a part; while others can join, guarded by mu

	mu        lockorder.Mutex[lockorder.Tenure]
	tenant    *tenant // the latest; changed by who has the send lock, too
	first     tenant
	shared    cohort.Share
	post      cohort.Holder
	sending   bool  // a count-changing command is under way
	renewing  bool  // the watchdog extends the lease, because a live hold has none of its own
	queued    bool  // it waits in a queue in Redis: what is in doubt is settled when the wait is over
	announces bool  // a refusal of its acquisition is announced; set before it is sent
	forgotten bool  // the watchdog looks after it no longer
	most      int32 // the most holds that a script has ever asked for
	spare     int64 // the number of tokens behind its tenant's which are its own, for re-entries and the next tenants
	rare      *rare // never nil
}

// A rare is what few tenures have. All that have nothing of it share one, which is only read.
type rare struct {
	turn    chan struct{} // of capacity 1: the send lock comes to one of the goroutines that wait for it
	senders int           // how many wait, but for the one to which it is on its way
	loss    life.Loss
	doubt   *doubt  // nil if there never was any
	guest   *tenure // the latest within this one, perhaps no longer held
}

var nothing rare

func newTenure(b *Base, set *settings.Settings) *tenure {
	return newTenureAs(b, set, b.Session.NextOwner())
}

// newTenureAs is for an identity that was minted before, and of which there is no tenure.
func newTenureAs(b *Base, set *settings.Settings, id string) *tenure {
	t := &tenure{base: b, id: id, rare: &nothing}
	t.tenant, t.first.tenure, t.first.set = &t.first, t, set
	return t
}

// rareLocked is for a change.
func (t *tenure) rareLocked() *rare {
	if t.rare == &nothing {
		t.rare = &rare{}
	}
	return t.rare
}

// latest is the tenant, for a caller that has neither the send lock nor the mutex.
func (t *tenure) latest() *tenant {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tenant
}

// of tells whether the tenure is one of a side of what b locks.
func (t *tenure) of(b *Base, side string) bool {
	held := t.base.Kind.side()
	return (held.Name == side || held.Includes != nil && held.Includes(side)) &&
		(t.base == b || t.base.Session == b.Session && t.base.Key == b.Key)
}

// field is where the tenure is in the lock's hash.
func (t *tenure) field() string { return t.id + t.base.Kind.side().Field }

// begin makes the tenure held, trusted until then: its first hold is handed out and the watchdog looks after
// it.
func (t *tenure) begin(since, trusted time.Time, got scripts.Attempt) *hold {
	c := &t.first
	t.mu.Lock() // a guest is known before it holds, to other calls with its host's context
	c.token, t.spare = got.Token, got.Spare
	t.renewing, c.live = c.set.Lease == 0, 1
	c.first = hold{tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(since)}, renewed: t.renewing}
	terms := t.termsLocked(trusted)
	t.mu.Unlock()
	t.announce()
	t.base.Session.Keep(&t.entry, t, terms)
	if t.base.Kind.Sharing != nil {
		t.base.Kind.Sharing.Began(t)
	}
	return &c.first
}

// agreeLocked tells the watchdog on what terms the tenure is kept now. It does so under the mutex: otherwise,
// of two such calls at once, the one with the older terms could be the last.
func (t *tenure) agreeLocked(trusted time.Time) {
	t.base.Session.Watchdog.Change(&t.entry, t.termsLocked(trusted))
}

// forget has the watchdog look after the tenure no longer, for good. What is about to be released is
// forgotten before the command is sent.
func (t *tenure) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetLocked()
}

func (t *tenure) forgetLocked() {
	t.forgotten = true
	t.base.Session.Watchdog.Forget(&t.entry)
}

// termsLocked are the watchdog's for a tenure trusted until then. A fixed lease is not extended, but if it is
// longer than a renewal period the lock is looked at each period, to notice when it is taken away. That of a
// lock with several owners is looked at each third of the lease too, for others may have shortened what it
// was promised.
func (t *tenure) termsLocked(trusted time.Time) watchdog.Terms {
	set := t.tenant.set
	terms := life.Terms(set, t.renewing, set.FirstLease(), trusted, t.tenant.end())
	if !t.renewing && t.base.Kind.side().Shared {
		terms.Every = min(terms.Every, max(set.Lease/3, leastCheck))
	}
	return terms
}

// leastCheck is how often a lock is looked at, at most, on which a fixed lease was promised.
const leastCheck = time.Second

// subject is what a script says about the tenure: how many holds it is to have, with which lease.
func (t *tenure) subject(holds int32, lease time.Duration) Subject {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most = max(t.most, holds)
	c := t.tenant
	return Subject{
		Key: t.base.Key, Owner: t.field(), Holds: int(holds), Most: int(t.most), Lease: lease, Patience: c.set.Patience,
		Tokens: t.base.tokens, Token: c.token + t.spare, Clock: c.set.ClockTokens, Wake: t.base.wake(),
	}
}

// Batch puts the tenure with those that are renewed by the same script in the same slot.
func (t *tenure) Batch() watchdog.Batch {
	return t.base.Session.BatchOf(t.base.Kind.Batch, t.base.Key)
}

// Renewal renews the tenures of one batch.
func (t *tenure) Renewal(tickets []*watchdog.Ticket) (scripts.Command[scripts.Kept], int) {
	now := time.Now()
	renewals := make([]scripts.Renewal, len(tickets))
	for i, ticket := range tickets {
		other := ticket.Owner().(*tenure)
		lease := ticket.Lease(now)
		if lease == 0 && t.base.Kind.side().Shared {
			lease = ticket.Promised(now)
		}
		s := other.subject(0, lease)
		renewals[i] = scripts.Renewal{Key: s.Key, Owner: s.Owner, Most: s.Most, Lease: s.Lease}
	}
	return t.base.Kind.Renew(renewals), len(tickets)
}

// Log is where trouble with the renewal is told.
func (t *tenure) Log() *slog.Logger { return t.base.log(t.latest().set) }

// Renewed has the observers know of each hold that the renewal is for.
func (t *tenure) Renewed(sent time.Time, err error) {
	var told []*life.Hold
	t.mu.Lock()
	for h := range t.tenant.holdsLocked() {
		if h.Observed() {
			told = append(told, &h.Hold)
		}
	}
	t.mu.Unlock()
	for _, h := range told {
		h.Renewed(sent, err)
	}
}

// announce has those of this process who come for the lock wait for what t does.
func (t *tenure) announce() {
	t.post = cohort.Holder{
		Since: t.first.first.Since, Gives: t.base.Kind.HandsOn && t.host == nil, Shared: t.base.Kind.side().Shared,
	}
	t.base.Session.Cohorts.Hold(t.base.line, &t.post)
}

// unannounce has them ask, unless t has handed the lock on or they hear of its release.
func (t *tenure) unannounce(heard bool) {
	if t.base.Kind.Sharing != nil {
		t.base.Session.Cohorts.Unshare(t.base.line, t)
	}
	t.base.Session.Cohorts.Free(t.base.line, &t.post, heard)
}

// accept makes a granted acquisition a hold, unless its answer took so long that it can no longer be trusted.
func (t *tenure) accept(receipt delivery.Receipt, reply scripts.Attempt) (*hold, error) {
	lease := t.first.set.FirstLease()
	trusted := watchdog.Trusted(receipt.Sent, lease)
	if !clock.Now().Before(trusted) {
		go t.giveUp()
		why := errSlow
		if receipt.Doubt {
			why = errLate
		}
		return nil, delivery.Unavailable(fmt.Errorf("it was granted, but %w than its lease of %v; ask for a longer lease", why, lease))
	}
	return t.begin(receipt.Sent, trusted, reply), nil
}

// errLate tells that the lock may have been acquired by a send that was not answered, so long ago that its
// lease is no longer trusted. It is given back, and can be acquired anew: nothing says that the next answer
// takes as long.
var errLate = errors.New("the outage took longer")

// errSlow tells that a single answer took so long, as the next one may.
var errSlow = errors.New("the answer took longer")
