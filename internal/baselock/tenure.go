package baselock

import (
	"iter"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/lockorder"
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
	Tenant    *Tenant // the latest; it is changed under Mu and the send lock, so either is enough to read it
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

// A Tenant has a tenure: it is a first hold and its re-entries. The first tenant got it from Redis, the
// others by a move from the tenant before; see move.go. What the program asks of a hold is its tenant's, so
// that it does not change with what becomes of the tenure afterwards.
//
// A tenant of which no hold is left has the tenure no more, and gets none again. So the field in Redis is
// another tenant's perhaps. Acts that may come so late compare the tenant with the latest of the tenure,
// under its mutex, and do nothing for another one.
type Tenant struct {
	Tenure *Tenure
	Set    *settings.Settings // of the first acquisition
	first  Hold

	// The rest is guarded by the mutex of the tenure.

	inner  *[]*Hold        // nil, or those of re-entries that are not given back
	Token  int64           // the newest that it was issued
	until  watchdog.Moment // 0, or to when the tenure was trusted when the next tenant got it
	Live   int32           // holds handed out and not given back
	kept   bool            // its program has given it back, and WithAtLeast keeps it
	Offers bool            // its release asks whether outsiders wait; see package composite
}

// A Hold is one acquisition of a tenant: the first, or a re-entry.
type Hold struct {
	Tenant *Tenant
	life.Hold
	limit atomic.Pointer[limit] // nil while it lasts as long as its tenure; see limit.go

	Group int32 // it counts with the holds of its tenant that have the same; see package sides
	Path  path

	// The rest is guarded by the mutex of the tenure.

	Renewed  bool // it has no lease of its own, so the watchdog renews the tenure while it lives
	released bool // given back, or on the way
	dropped  bool // unreachable for the program, or left: its lease runs out
	left     bool // by Leave
	over     bool // its own limit has ended it, and not the tenure's
}

// A path is how a hold came to its call.
type path uint8

const (
	asked   path = iota // Redis has granted it to a question
	Local               // from a hold of this process, without a command
	Swapped             // from a hold of this process, by a command
	Passed              // a release has passed it on, by a message
)

// A doubt is what is unknown about a tenure's commands.
type doubt struct {
	ghosts    time.Time // a command may execute until then, whatever the server answers meanwhile
	release   time.Time // a release is not confirmed; nothing is to be released after that moment
	confirmed bool      // the release is
	since     time.Time
	pause     time.Duration // until the next settling; 0: none is planned
	due       time.Time     // when that is
	timer     *time.Timer   // that brings it
	settling  bool          // one is under way, and plans the next when it is done
}

// A limit is the end of a hold that may be over before its tenure. The watchdog looks after it as after a
// lease that it does not renew.
type limit struct {
	hold   *Hold
	ticket watchdog.Ticket
	most   time.Duration // WithMaxHold, 0: none
	margin time.Duration
	loss   *redlatch.LossError // guarded by the tenure's mutex: why the hold is over
}

var nothing rare

// NewTenure makes a tenure with an identity of its own, of which Redis has nothing yet.
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

// holdsLocked are the holds that were not given back.
func (c *Tenant) holdsLocked() iter.Seq[*Hold] {
	return func(yield func(*Hold) bool) {
		if !c.first.released && !yield(&c.first) || c.inner == nil {
			return
		}
		for _, h := range *c.inner {
			if !yield(h) {
				return
			}
		}
	}
}

func (c *Tenant) AddLocked(h *Hold) {
	if c.inner == nil {
		c.inner = new([]*Hold)
	}
	*c.inner = append(*c.inner, h)
}

// end is zero, or where WithMaxHold ends the tenant.
func (c *Tenant) end() time.Time {
	return c.first.EndsAfter(c.Set.MaxHold)
}
