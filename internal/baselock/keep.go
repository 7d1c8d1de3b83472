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
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// ErrLate tells that the lock may have been acquired by a send that was not answered, so long ago that its
// lease is no longer trusted. It is given back, and can be acquired anew: nothing says that the next answer
// takes as long.
var ErrLate = errors.New("the outage took longer")

// errSlow tells that a single answer took so long, as the next one may.
var errSlow = errors.New("the answer took longer")

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

// announce tells the cohort that this process holds the lock. Calls that come for it wait until the tenure is
// moved or released, and do not ask a server that would refuse them.
func (t *Tenure) announce() {
	t.Post = cohort.Holder{
		Since: t.First.first.Since, Gives: t.Base.Kind.HandsOn && t.Host == nil, Shared: t.Base.Kind.Side.Shared,
	}
	t.Base.Session.Cohorts.Hold(t.Base.Line, &t.Post)
}

// Unannounce tells the cohort that the tenure is over. The waiting calls ask, unless heard says that they hear
// of the release by a message.
func (t *Tenure) Unannounce(heard bool) {
	if t.Base.Kind.Sharing != nil {
		t.Base.Session.Cohorts.Unshare(t.Base.Line, t)
	}
	t.Base.Session.Cohorts.Free(t.Base.Line, &t.Post, heard)
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
