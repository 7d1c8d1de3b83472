package baselock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Holds of one tenant share what Redis keeps: one field with a count, and one lease, which commands only ever
// lengthen. Each of them promises its own.
//
//	hold                       is over by itself
//	renewed                    never
//	fixed lease                when its lease is over, which Extend on that hold puts off
//	re-entry with WithMaxHold  then, whatever its lease and Extend
//	first with WithMaxHold     then, and all re-entries with it: the limit is that of the tenant
//
//	what happens                                  what Redis keeps
//	a hold is over, another is promised still     the lease of the tenure, renewed while a renewed hold is among the others
//	the last renewed hold is given back           the lease as it is, renewed no longer
//	nothing is promised any longer                the lock is released, by whatever ended the last promise
//
// The last promise may end by Unlock, of the only hold that was not over, or by the clock. Unlock of a hold
// that is over returns its loss; it gives back its count if its tenant has the tenure still, and sends
// nothing otherwise.
//
// A lease that has become too long is not cut in Redis, for a cut that is executed late would shorten what
// has been promised since. If the process dies before it releases the lock, the lock stays for what was
// promised to a hold that was given back.

// unsent is the period of a ticket that is never sent.
const unsent = time.Duration(1 << 60)

// Batch is never asked.
func (l *limit) Batch() watchdog.Batch { return watchdog.Batch{} }

// Lost is called by the watchdog, when the hold is over.
func (l *limit) Lost(reason string, _ error) { l.hold.overdue(redlatch.LossReason(reason)) }

func (l *limit) terms(trusted time.Time) watchdog.Terms {
	return watchdog.Terms{Every: unsent, Trusted: trusted, Margin: l.margin, End: l.end()}
}

// end is zero, or where WithMaxHold ends the hold.
func (l *limit) end() time.Time {
	return l.hold.EndsAfter(l.most)
}

// shareLocked gives the first hold a limit, if it has a lease of its own, before another one lengthens the
// tenure's.
func (c *Tenant) shareLocked() {
	h := &c.first
	if h.Renewed || h.released || h.dropped || h.over || h.limit.Load() != nil {
		return
	}
	h.keepLocked(&limit{hold: h, most: c.Set.MaxHold, margin: watchdog.Margin(c.Set.FirstLease())},
		c.Tenure.Entry.TrustedUntil())
}

// limitLocked gives a re-entry that was acquired with set, and is trusted until then, the limit that it asks
// for.
func (h *Hold) limitLocked(set *settings.Settings, trusted time.Time) {
	if set.Lease == 0 && set.MaxHold == 0 {
		return
	}
	l := &limit{hold: h, most: set.MaxHold, margin: watchdog.Margin(set.FirstLease())}
	if set.Lease == 0 {
		trusted = l.end()
	}
	h.keepLocked(l, trusted)
}

func (h *Hold) keepLocked(l *limit, trusted time.Time) {
	h.Tenant.Tenure.Base.Session.Watchdog.Keep(&l.ticket, l, l.terms(trusted))
	h.limit.Store(l)
}

// prolongLocked moves the limit, after an extension.
func (h *Hold) prolongLocked(trusted time.Time) {
	if l := h.limit.Load(); l != nil {
		h.Tenant.Tenure.Base.Session.Watchdog.Change(&l.ticket, l.terms(trusted))
	}
}

// unlimit has the watchdog look after the hold no longer.
func (h *Hold) unlimit() {
	if l := h.limit.Load(); l != nil {
		h.Tenant.Tenure.Base.Session.Watchdog.Forget(&l.ticket)
	}
}

// leaseWithin is the tenant's, for an extension of this hold.
func (h *Hold) leaseWithin(at time.Time, lease time.Duration) time.Duration {
	lease = h.Tenant.leaseWithin(at, lease)
	if l := h.limit.Load(); l != nil && l.most > 0 {
		lease = min(lease, max(l.end().Sub(at), time.Millisecond))
	}
	return lease
}

// lostLocked is why the hold was lost, nil while it was not.
func (h *Hold) lostLocked() error {
	if h.over {
		return h.limit.Load().loss
	}
	if lost := h.Tenant.Tenure.LostLocked(); lost != nil && h.Tenant == h.Tenant.Tenure.Tenant {
		return lost
	}
	return nil
}

// promisedLocked tells whether the lock is still promised to a hold. A hold that is being given back sees to
// the rest itself; one that was dropped has its lease run out.
func (c *Tenant) promisedLocked() bool {
	over := int32(0)
	for h := range c.holdsLocked() {
		if h.over {
			over++
		}
	}
	return over < c.Live
}

// Part takes a hold that is being given back off the tenant's count, and with it those that are over if
// nothing is promised any longer. So many are left then. gone tells that Redis need not hear: the hold was
// taken off before, or it had joined others, or others have joined it, and some of them are left. Of a hold
// of which Redis has to hear, only a caller that sends takes it off.
func (h *Hold) Part(sends bool) (left int32, held bool, lost error, gone bool) {
	t, c := h.Tenant.Tenure, h.Tenant
	t.Mu.Lock()
	defer t.Mu.Unlock()
	held, lost = t.LostLocked() == nil, h.lostLocked()
	switch {
	case c.Live == 0:
		gone = true
	case t.Shared.Leave():
		c.Live, gone = c.Live-1, true
	case sends:
		c.Live--
		if held && !c.promisedLocked() {
			c.Live = 0
		}
		if c.Live == 0 {
			t.Shared.Last()
		}
	}
	return c.Live, held, lost, gone
}

// overdue ends a hold whose own limit has passed, and lets the lock go if nothing is promised any longer.
func (h *Hold) overdue(reason redlatch.LossReason) {
	t, c := h.Tenant.Tenure, h.Tenant
	loss := &redlatch.LossError{Name: t.Base.Name, Owner: t.ID, Reason: reason, At: time.Now()}
	t.Mu.Lock()
	if h.released || h.dropped || h.over || t.LostLocked() != nil || c.Live == 0 {
		t.Mu.Unlock()
		return
	}
	h.limit.Load().loss, h.over = loss, true
	promised := c.promisedLocked()
	early := !promised && clock.Now().Before(t.Entry.TrustedUntil()) // the server would keep it for longer
	if early {
		t.forgetLocked() // it is this tenant's until it is over
	}
	t.Mu.Unlock()
	h.Ending().End(loss)
	switch {
	case promised:
		h.Finish(context.Background(), redlatch.EventLost, loss)
		c.Adjust()
	case early:
		_ = t.Lose(reason, nil)
		t.GiveUp()
	}
}

// leaseWithin keeps a lease asked for at a moment from reaching past the tenant's end.
func (c *Tenant) leaseWithin(at time.Time, lease time.Duration) time.Duration {
	end := c.end()
	if end.IsZero() {
		return lease
	}
	return min(lease, max(end.Sub(at), time.Millisecond))
}
