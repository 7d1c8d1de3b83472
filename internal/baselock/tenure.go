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

// A Tenure is what Redis has given to this process in one field, which bears the identity of an owner. It
// does not change while the lock goes from tenant to tenant. A program may have ten thousand tenures: what
// few need is behind a pointer, and the first tenant within the tenure.
type Tenure struct {
	Base   *Base // on which it was asked for
	ID     string
	Entry  watchdog.Ticket // kept from the grant until the release; what is forgotten is never kept again
	Host   *Tenure         // nil, or that on the other side within which this one is
	Streak *cohort.Streak  // nil, or that of the hand-offs of which it is a part; while others can join, guarded by Mu

	Mu        lockorder.Mutex[lockorder.Tenure]
	Tenant    *Tenant // the latest; changed by who has the send lock, too
	First     Tenant
	Shared    cohort.Share
	Post      cohort.Holder
	sending   bool  // a count-changing command is under way
	renewing  bool  // the watchdog extends the lease, because a live hold has none of its own
	Queued    bool  // it waits in a queue in Redis: what is in doubt is settled when the wait is over
	Announces bool  // a refusal of its acquisition is announced; set before it is sent
	forgotten bool  // the watchdog looks after it no longer
	most      int32 // the most holds that a script has ever asked for
	Spare     int64 // the number of tokens behind its tenant's which are its own, for re-entries and the next tenants
	rare      *rare // never nil
}

// A rare is what few tenures have. All that have nothing of it share one, which is only read.
type rare struct {
	turn    chan struct{} // of capacity 1: the send lock comes to one of the goroutines that wait for it
	senders int           // how many wait, but for the one to which it is on its way
	loss    life.Loss
	doubt   *doubt  // nil if there never was any
	guest   *Tenure // the latest within this one, perhaps no longer held
}

var nothing rare

func NewTenure(b *Base, set *settings.Settings) *Tenure {
	return NewTenureAs(b, set, b.Session.NextOwner())
}

// NewTenureAs is for an identity that was minted before, and of which there is no tenure.
func NewTenureAs(b *Base, set *settings.Settings, id string) *Tenure {
	t := &Tenure{Base: b, ID: id, rare: &nothing}
	t.Tenant, t.First.Tenure, t.First.Set = &t.First, t, set
	return t
}

// rareLocked is for a change.
func (t *Tenure) rareLocked() *rare {
	if t.rare == &nothing {
		t.rare = &rare{}
	}
	return t.rare
}

// latest is the tenant, for a caller that has neither the send lock nor the mutex.
func (t *Tenure) latest() *Tenant {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.Tenant
}

// Of tells whether the tenure is one of a side of what b locks.
func (t *Tenure) Of(b *Base, side string) bool {
	held := t.Base.Kind.Side
	return (held.Name == side || held.Includes != nil && held.Includes(side)) &&
		(t.Base == b || t.Base.Session == b.Session && t.Base.Key == b.Key)
}

// Field is where the tenure is in the lock's hash.
func (t *Tenure) Field() string { return t.ID + t.Base.Kind.Side.Field }

// Begin makes the tenure held, trusted until then: its first hold is handed out and the watchdog looks after
// it.
func (t *Tenure) Begin(since, trusted time.Time, got scripts.Attempt) *Hold {
	c := &t.First
	t.Mu.Lock() // a guest is known before it holds, to other calls with its host's context
	c.Token, t.Spare = got.Token, got.Spare
	t.renewing, c.Live = c.Set.Lease == 0, 1
	c.first = Hold{Tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(since)}, Renewed: t.renewing}
	terms := t.termsLocked(trusted)
	t.Mu.Unlock()
	t.announce()
	t.Base.Session.Keep(&t.Entry, t, terms)
	if t.Base.Kind.Sharing != nil {
		t.Base.Kind.Sharing.Began(t)
	}
	return &c.first
}

// agreeLocked tells the watchdog on what terms the tenure is kept now. It does so under the mutex: otherwise,
// of two such calls at once, the one with the older terms could be the last.
func (t *Tenure) agreeLocked(trusted time.Time) {
	t.Base.Session.Watchdog.Change(&t.Entry, t.termsLocked(trusted))
}

// Forget has the watchdog look after the tenure no longer, for good. What is about to be released is
// forgotten before the command is sent.
func (t *Tenure) Forget() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.forgetLocked()
}

func (t *Tenure) forgetLocked() {
	t.forgotten = true
	t.Base.Session.Watchdog.Forget(&t.Entry)
}

// termsLocked are the watchdog's for a tenure trusted until then. A fixed lease is not extended, but if it is
// longer than a renewal period the lock is looked at each period, to notice when it is taken away. That of a
// lock with several owners is looked at each third of the lease too, for others may have shortened what it
// was promised.
func (t *Tenure) termsLocked(trusted time.Time) watchdog.Terms {
	set := t.Tenant.Set
	terms := life.Terms(set, t.renewing, set.FirstLease(), trusted, t.Tenant.end())
	if !t.renewing && t.Base.Kind.Side.Shared {
		terms.Every = min(terms.Every, max(set.Lease/3, leastCheck))
	}
	return terms
}

// leastCheck is how often a lock is looked at, at most, on which a fixed lease was promised.
const leastCheck = time.Second

// Subject is what a script says about the tenure: how many holds it is to have, with which lease.
func (t *Tenure) Subject(holds int32, lease time.Duration) Subject {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.most = max(t.most, holds)
	c := t.Tenant
	return Subject{
		Key: t.Base.Key, Owner: t.Field(), Holds: int(holds), Most: int(t.most), Lease: lease, Patience: c.Set.Patience,
		Tokens: t.Base.tokens, Token: c.Token + t.Spare, Clock: c.Set.ClockTokens, Wake: t.Base.Wake(),
	}
}

// Asking is what the first acquisition says.
func (t *Tenure) Asking() Subject {
	s := t.Subject(1, t.First.Set.FirstLease())
	if t.Host != nil {
		s.Host = t.Host.Field()
	}
	if t.Announces {
		s.Session, s.Announce = t.Base.Session.ID, Patience(t.First.Set)
	}
	return s
}

// Batch puts the tenure with those that are renewed by the same script in the same slot.
func (t *Tenure) Batch() watchdog.Batch {
	return t.Base.Session.BatchOf(t.Base.Kind.Batch, t.Base.Key)
}

// Renewal renews the tenures of one batch.
func (t *Tenure) Renewal(tickets []*watchdog.Ticket) (scripts.Command[scripts.Kept], int) {
	now := time.Now()
	renewals := make([]scripts.Renewal, len(tickets))
	for i, ticket := range tickets {
		other := ticket.Owner().(*Tenure)
		lease := ticket.Lease(now)
		if lease == 0 && t.Base.Kind.Side.Shared {
			lease = ticket.Promised(now)
		}
		s := other.Subject(0, lease)
		renewals[i] = scripts.Renewal{Key: s.Key, Owner: s.Owner, Most: s.Most, Lease: s.Lease}
	}
	return t.Base.Kind.Renew(renewals), len(tickets)
}

// Log is where trouble with the renewal is told.
func (t *Tenure) Log() *slog.Logger { return t.Base.log(t.latest().Set) }

// Renewed has the observers know of each hold that the renewal is for.
func (t *Tenure) Renewed(sent time.Time, err error) {
	var told []*life.Hold
	t.Mu.Lock()
	for h := range t.Tenant.holdsLocked() {
		if h.Observed() {
			told = append(told, &h.Hold)
		}
	}
	t.Mu.Unlock()
	for _, h := range told {
		h.Renewed(sent, err)
	}
}

// announce has those of this process who come for the lock wait for what t does.
func (t *Tenure) announce() {
	t.Post = cohort.Holder{
		Since: t.First.first.Since, Gives: t.Base.Kind.HandsOn && t.Host == nil, Shared: t.Base.Kind.Side.Shared,
	}
	t.Base.Session.Cohorts.Hold(t.Base.Line, &t.Post)
}

// Unannounce has them ask, unless t has handed the lock on or they hear of its release.
func (t *Tenure) Unannounce(heard bool) {
	if t.Base.Kind.Sharing != nil {
		t.Base.Session.Cohorts.Unshare(t.Base.Line, t)
	}
	t.Base.Session.Cohorts.Free(t.Base.Line, &t.Post, heard)
}

// Accept makes a granted acquisition a hold, unless its answer took so long that it can no longer be trusted.
func (t *Tenure) Accept(receipt delivery.Receipt, reply scripts.Attempt) (*Hold, error) {
	lease := t.First.Set.FirstLease()
	trusted := watchdog.Trusted(receipt.Sent, lease)
	if !clock.Now().Before(trusted) {
		go t.GiveUp()
		why := errSlow
		if receipt.Doubt {
			why = ErrLate
		}
		return nil, delivery.Unavailable(fmt.Errorf("it was granted, but %w than its lease of %v; ask for a longer lease", why, lease))
	}
	return t.Begin(receipt.Sent, trusted, reply), nil
}

// ErrLate tells that the lock may have been acquired by a send that was not answered, so long ago that its
// lease is no longer trusted. It is given back, and can be acquired anew: nothing says that the next answer
// takes as long.
var ErrLate = errors.New("the outage took longer")

// errSlow tells that a single answer took so long, as the next one may.
var errSlow = errors.New("the answer took longer")
