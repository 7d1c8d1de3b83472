package baselock

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/loss"
	"github.com/redlatch/redlatch/internal/observe"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// An owner is one identity in Redis and the holds that share it. A program may have ten thousand of them:
// what few need is behind a pointer.
type owner struct {
	base   *Base
	id     string
	set    *settings.Settings // of the first acquisition
	ticket watchdog.Ticket
	first  hold
	host   *owner // nil, or the owner on the other side within which this one is

	streak *cohort.Streak // nil, or that of the hand-offs of which it is one end; while others can join, guarded by mu

	mu        lockorder.Mutex[lockorder.Owner]
	shared    cohort.Share
	sending   bool // a count-changing command is under way
	renewing  bool // the watchdog extends the lease, because a live hold has none of its own
	queued    bool // it waits in a queue in Redis: what is in doubt is settled when the wait is over
	announces bool // a refusal of its acquisition is announced; set before it is sent
	offers    bool // its release asks whether outsiders wait; see [Offer]
	kept      bool // its program has given it back, and WithAtLeast keeps it
	post      cohort.Holder
	senders   *[]chan struct{} // nil, or of capacity 1: the goroutines that wait to send a count-changing command
	most      int32            // the most holds that a script has ever asked for
	live      int32            // holds handed out and not given back
	inner     *[]*hold         // nil, or those of re-entries that are not given back
	token     int64            // the newest that it was issued
	// The number of tokens behind that one which are its own, for its re-entries and successors.
	spare int64
	loss  *loss.Loss // nil while nothing speaks of one
	doubt *doubt     // nil if there never was any
	guest *owner     // the latest within this one, perhaps no longer a holder
}

func newOwner(b *Base, set *settings.Settings) *owner {
	return newOwnerAs(b, set, b.Session.NextOwner())
}

// newOwnerAs is for an identity that was minted before, and of which there is no owner.
func newOwnerAs(b *Base, set *settings.Settings, id string) *owner {
	return &owner{base: b, id: id, set: set}
}

// of tells whether the owner holds a side of what b locks.
func (o *owner) of(b *Base, side string) bool {
	held := o.base.Kind.side()
	return (held.Name == side || held.Includes != nil && held.Includes(side)) &&
		(o.base == b || o.base.Session == b.Session && o.base.Key == b.Key)
}

// field is where the owner stands in the lock's hash.
func (o *owner) field() string { return o.id + o.base.Kind.side().Field }

// lockSend takes the send lock: an owner has at most one count-changing command under way. unlockSend gives
// it to the next.
func (o *owner) lockSend(ctx context.Context) error {
	lockorder.Waits[lockorder.Send](o)
	o.mu.Lock()
	if !o.sending {
		o.sending = true
		o.mu.Unlock()
		lockorder.Has[lockorder.Send](o)
		return nil
	}
	came := make(chan struct{}, 1)
	if o.senders == nil {
		o.senders = new([]chan struct{})
	}
	*o.senders = append(*o.senders, came)
	o.mu.Unlock()
	select {
	case <-came:
		lockorder.Has[lockorder.Send](o)
		return nil
	case <-ctx.Done():
	}
	o.mu.Lock()
	at := slices.Index(*o.senders, came)
	if at >= 0 {
		*o.senders = slices.Delete(*o.senders, at, at+1)
	}
	o.mu.Unlock()
	if at < 0 { // the send lock came at the same moment
		o.unlockSend()
	}
	return ctx.Err()
}

// tryLockSend takes the send lock if it is free.
func (o *owner) tryLockSend() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	free := !o.sending
	o.sending = true
	if free {
		lockorder.Has[lockorder.Send](o)
	}
	return free
}

// lockSendToRelease is lockSend for a release: it does not care for the end of ctx, but has a limit. It
// answers how much of that is left for the release itself.
func (o *owner) lockSendToRelease(ctx context.Context) (left time.Duration, err error) {
	limit := o.set.ReleaseTimeout
	if o.tryLockSend() { // the common case needs no timer
		return limit, nil
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err = o.lockSend(ctx)
	return max(time.Millisecond, limit-time.Since(start)), err
}

func (o *owner) unlockSend() {
	lockorder.Gone[lockorder.Send](o)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.senders == nil || len(*o.senders) == 0 {
		o.sending = false
		return
	}
	(*o.senders)[0] <- struct{}{}
	*o.senders = slices.Delete(*o.senders, 0, 1)
}

// begin makes the owner hold, trusted until then: its first hold is handed out and the watchdog looks after
// it.
func (o *owner) begin(since, trusted time.Time, got scripts.Attempt) *hold {
	o.mu.Lock() // a guest is known before it holds, to other calls with its host's context
	o.token, o.spare = got.Token, got.Spare
	o.renewing, o.live = o.set.Lease == 0, 1
	o.first = hold{owner: o, since: watchdog.MomentOf(since), renewed: o.renewing}
	terms := o.termsLocked(trusted)
	o.mu.Unlock()
	o.announce()
	o.base.Session.Keep(&o.ticket, o, terms)
	o.share()
	return &o.first
}

// agreeLocked tells the watchdog on what terms the owner is kept now. It does so under the mutex: otherwise,
// of two such calls at once, the one with the older terms could be the last.
func (o *owner) agreeLocked(trusted time.Time) {
	o.base.Session.Watchdog.Change(&o.ticket, o.termsLocked(trusted))
}

// termsLocked are the watchdog's for an owner trusted until then. A fixed lease is not extended, but if it is
// longer than a renewal period the lock is looked at each period, to notice when it is taken away. That of a
// lock with several owners is looked at each third of the lease too, for others may have shortened what it
// was promised.
func (o *owner) termsLocked(trusted time.Time) watchdog.Terms {
	t := watchdog.Terms{Trusted: trusted, End: o.end(), Every: o.set.WatchdogTimeout / 3,
		Margin: watchdog.Margin(o.set.FirstLease())}
	if o.renewing {
		t.Lease = o.set.WatchdogTimeout
		t.Margin = watchdog.Margin(t.Lease)
	} else if o.base.Kind.side().Shared {
		t.Every = min(t.Every, max(o.set.Lease/3, leastCheck))
	}
	return t
}

// leastCheck is how often a lock is looked at, at most, on which a fixed lease was promised.
const leastCheck = time.Second

// end is zero, or where WithMaxHold ends the owner.
func (o *owner) end() time.Time {
	if o.set.MaxHold == 0 {
		return time.Time{}
	}
	return o.first.since.Time().Add(o.set.MaxHold)
}

// subject is what a script says about the owner: how many holds it is to have, with which lease.
func (o *owner) subject(holds int32, lease time.Duration) Subject {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.most = max(o.most, holds)
	return Subject{
		Key: o.base.Key, Owner: o.field(), Holds: int(holds), Most: int(o.most), Lease: lease, Patience: o.set.Patience,
		Tokens: o.base.tokens, Token: o.token + o.spare, Clock: o.set.ClockTokens, Wake: o.base.wake(),
	}
}

// Batch puts the owner with those that are renewed by the same script in the same slot.
func (o *owner) Batch() watchdog.Batch {
	return o.base.Session.BatchOf(o.base.Kind.Batch, o.base.Key)
}

// Renewal renews the owners of one batch.
func (o *owner) Renewal(tickets []*watchdog.Ticket) (scripts.Command[scripts.Kept], int) {
	now := time.Now()
	renewals := make([]scripts.Renewal, len(tickets))
	for i, t := range tickets {
		other := t.Owner().(*owner)
		other.mu.Lock()
		live := other.countedLocked()
		other.mu.Unlock()
		lease := t.Lease(now)
		if lease == 0 && o.base.Kind.side().Shared {
			lease = t.Promised(now)
		}
		s := other.subject(live, lease)
		renewals[i] = scripts.Renewal{Key: s.Key, Owner: s.Owner, Most: s.Most, Lease: s.Lease}
	}
	return o.base.Kind.Renew(renewals), len(tickets)
}

// Log is where trouble with the renewal is told.
func (o *owner) Log() *slog.Logger { return o.base.log(o.set) }

// Renewed has the observers know of each hold that the renewal is for.
func (o *owner) Renewed(sent time.Time, err error) {
	var told []*observe.Hold
	o.mu.Lock()
	for h := range o.sharedLocked() {
		if t := h.told.Load(); t != nil {
			told = append(told, t)
		}
	}
	o.mu.Unlock()
	for _, t := range told {
		t.Renewed(sent, err)
	}
}
