package baselock

import (
	"context"
	"iter"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// Holds of one owner share what Redis keeps: one field with a count, and one lease, which commands only ever
// lengthen. Each of them promises its own.
//
//	hold                       is over by itself
//	renewed                    never
//	fixed lease                when its lease is over, which Extend on that hold puts off
//	re-entry with WithMaxHold  then, whatever its lease and Extend
//	first with WithMaxHold     then, and all re-entries with it: the limit is that of the owner
//
//	what happens                                  what Redis keeps
//	a hold is over, another is promised still     the lease of the owner, renewed while a renewed hold is among the others
//	the last renewed hold is given back           the lease as it is, renewed no longer
//	nothing is promised any longer                the lock is released, by whatever ended the last promise
//
// The last promise may end by Unlock, of the only hold that was not over, or by the clock. Unlock of a hold
// that is over returns its loss; it gives back its count if the owner is still there, and sends nothing
// otherwise: the identity may have gone on to a successor by then.
//
// A lease that has become too long is not cut in Redis, for a cut that is executed late would shorten what
// has been promised since. If the process dies before it releases the lock, the lock stays for what was
// promised to a hold that was given back.

// A limit is the end of a hold that may be over before its owner. The watchdog looks after it as after a
// lease that it does not renew.
type limit struct {
	hold   *hold
	ticket watchdog.Ticket
	most   time.Duration // WithMaxHold, 0: none
	margin time.Duration
	loss   *redlatch.LossError // guarded by the owner's mutex: why the hold is over
}

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
	if l.most == 0 {
		return time.Time{}
	}
	return l.hold.since.Time().Add(l.most)
}

// sharedLocked are the holds that were not given back.
func (o *owner) sharedLocked() iter.Seq[*hold] {
	return func(yield func(*hold) bool) {
		if !o.first.released && !yield(&o.first) || o.inner == nil {
			return
		}
		for _, h := range *o.inner {
			if !yield(h) {
				return
			}
		}
	}
}

func (o *owner) addLocked(h *hold) {
	if o.inner == nil {
		o.inner = new([]*hold)
	}
	*o.inner = append(*o.inner, h)
}

// shareLocked gives the first hold a limit, if it has a lease of its own, before another one lengthens the
// owner's.
func (o *owner) shareLocked() {
	h := &o.first
	if h.renewed || h.released || h.dropped || h.over || h.limit.Load() != nil {
		return
	}
	h.keepLocked(&limit{hold: h, most: o.set.MaxHold, margin: watchdog.Margin(o.set.FirstLease())},
		o.ticket.TrustedUntil())
}

// limitLocked gives a re-entry that was acquired with set, and is trusted until then, the limit that it asks
// for.
func (h *hold) limitLocked(set *settings.Settings, trusted time.Time) {
	if set.Lease == 0 && set.MaxHold == 0 {
		return
	}
	l := &limit{hold: h, most: set.MaxHold, margin: watchdog.Margin(set.FirstLease())}
	if set.Lease == 0 {
		trusted = l.end()
	}
	h.keepLocked(l, trusted)
}

func (h *hold) keepLocked(l *limit, trusted time.Time) {
	h.owner.base.Session.Watchdog.Keep(&l.ticket, l, l.terms(trusted))
	h.limit.Store(l)
}

// prolongLocked moves the limit, after an extension.
func (h *hold) prolongLocked(trusted time.Time) {
	if l := h.limit.Load(); l != nil {
		h.owner.base.Session.Watchdog.Change(&l.ticket, l.terms(trusted))
	}
}

// unlimit has the watchdog look after the hold no longer.
func (h *hold) unlimit() {
	if l := h.limit.Load(); l != nil {
		h.owner.base.Session.Watchdog.Forget(&l.ticket)
	}
}

// leaseWithin is the owner's, for an extension of this hold.
func (h *hold) leaseWithin(at time.Time, lease time.Duration) time.Duration {
	lease = h.owner.leaseWithin(at, lease)
	if l := h.limit.Load(); l != nil && l.most > 0 {
		lease = min(lease, max(l.end().Sub(at), time.Millisecond))
	}
	return lease
}

// lostLocked is why the hold was lost, nil while it was not.
func (h *hold) lostLocked() error {
	if h.over {
		return h.limit.Load().loss
	}
	if lost := h.owner.lostLocked(); lost != nil {
		return lost
	}
	return nil
}

// promisedLocked tells whether the lock is still promised to a hold. A hold that is being given back sees to
// the rest itself; one that was dropped has its lease run out.
func (o *owner) promisedLocked() bool {
	over := int32(0)
	for h := range o.sharedLocked() {
		if h.over {
			over++
		}
	}
	return over < o.live
}

// part takes a hold that is being given back off the owner's count, and with it those that are over if
// nothing is promised any longer. So many are left then. gone tells that it was taken off before, or, where
// some are left, that another has joined meanwhile and Redis need not hear.
func (h *hold) part() (left int32, held bool, lost error, gone bool) {
	o := h.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	held, lost = o.lostLocked() == nil, h.lostLocked()
	if o.live == 0 {
		return 0, held, lost, true
	}
	o.live--
	if o.shared.Leave() {
		return o.live, held, lost, true
	}
	if held && !o.promisedLocked() {
		o.live = 0
	}
	if o.live == 0 {
		o.shared.Last()
	}
	return o.live, held, lost, false
}

// overdue ends a hold whose own limit has passed, and lets the lock go if nothing is promised any longer.
func (h *hold) overdue(reason redlatch.LossReason) {
	o := h.owner
	loss := &redlatch.LossError{Name: o.base.Name, Owner: o.id, Reason: reason, At: time.Now()}
	o.mu.Lock()
	if h.released || h.dropped || h.over || o.lostLocked() != nil || o.live == 0 {
		o.mu.Unlock()
		return
	}
	h.limit.Load().loss, h.over = loss, true
	promised := o.promisedLocked()
	o.mu.Unlock()
	h.ending.End(loss)
	switch {
	case promised:
		h.finish(context.Background(), settings.Lost, loss)
		o.adjust()
	case clock.Now().Before(o.ticket.TrustedUntil()): // the server would keep it for longer
		_ = o.lose(reason, nil)
		o.giveUp()
	}
}
