package baselock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// errOver tells that the owner ended before the re-entry did: a fresh owner is to be made.
var errOver = errors.New("redlatch: the hold in the context is over")

// reenter adds a hold to the owner.
func (o *owner) reenter(ctx context.Context, set *settings.Settings, try bool) (*hold, error) {
	if err := o.lockSend(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	over, want := o.lostLocked() != nil || o.live == 0, o.countedLocked()+1
	o.mu.Unlock()
	if over {
		o.unlockSend()
		return nil, errOver
	}
	lease := o.leaseWithin(time.Now(), set.FirstLease())
	cmd := o.reentry(want, lease)
	returned := false
	// A hook of the client may panic here, and nothing else of the owner could be sent.
	defer raise.Unless(&returned, func() {
		o.doubted()
		o.unlockSend()
	})
	reply, receipt, err := delivery.Deliver(ctx, o.base.Session.Dispatch, cmd,
		delivery.Limit{Outage: set.OutageFor(try)})
	returned = true
	if err != nil {
		if failure := delivery.AsFailure(err); failure.Doubt {
			lockorder.Gone[lockorder.Send](o)
			go o.settleReentry(failure, cmd) // gives the send lock back
		} else {
			o.unlockSend()
		}
		return nil, err
	}
	defer o.unlockSend()
	if receipt.Doubt {
		o.doubted()
	}
	if !reply.Held {
		return nil, o.lose(watchdog.NotOwned, nil)
	}
	return o.reentered(set, receipt.Sent, lease, reply.Token, o.groupIn(ctx))
}

// reentry is the script by which this kind re-enters.
func (o *owner) reentry(holds int32, lease time.Duration) scripts.Command[scripts.Attempt] {
	if tokens := o.base.Kind.Tokens; tokens != nil {
		s := o.subject(holds, lease)
		if s.Token == o.first.Token() { // the owner has no token left
			s.Token++
		}
		return tokens.Reenter(s)
	}
	return scripts.Map(o.base.Kind.Recount(o.subject(holds, lease)), func(held bool) scripts.Attempt {
		return scripts.Attempt{Held: held}
	})
}

// leaseWithin keeps a lease asked for at a moment from reaching past the owner's end.
func (o *owner) leaseWithin(at time.Time, lease time.Duration) time.Duration {
	end := o.end()
	if end.IsZero() {
		return lease
	}
	return min(lease, max(end.Sub(at), time.Millisecond))
}

// reentered hands out the hold of a re-entry that the server has confirmed.
func (o *owner) reentered(set *settings.Settings, sent time.Time, lease time.Duration, issued int64,
	group int32) (*hold, error) {
	h := &hold{owner: o, since: watchdog.MomentOf(sent), renewed: set.Lease == 0, group: group}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch lost := o.lostLocked(); {
	case lost != nil: // meanwhile, by the clock; the other holds' releases delete the field
		return nil, lost
	case o.live == 0: // the others were given back without waiting for this; settling deletes the field
		return nil, errOver
	}
	o.live++
	o.drawLocked(issued)
	o.addLocked(h)
	o.renewing = o.renewing || h.renewed
	o.shareLocked()
	trusted := watchdog.Trusted(sent, lease)
	h.limitLocked(set, trusted)
	o.agreeLocked(trusted)
	return h, nil
}

// adjust stops the extending of the lease when the last hold that needs it was given back or dropped or is
// over, and all looking after the owner when every hold that is left was dropped or is over, unless it has a
// guest.
func (o *owner) adjust() {
	o.mu.Lock()
	// A guest keeps the key, and with it the field of its host. So the watchdog goes on looking after the
	// host's lease.
	kept, renewing := o.guest != nil, false
	for h := range o.sharedLocked() {
		if !h.dropped && !h.over {
			kept, renewing = true, renewing || h.renewed
		}
	}
	changed := renewing != o.renewing
	o.renewing = renewing
	if kept && changed {
		o.agreeLocked(o.ticket.TrustedUntil())
	}
	o.mu.Unlock()
	if !kept {
		o.base.Session.Watchdog.Forget(&o.ticket)
		o.unannounce(false)
		o.overTurn()
	}
}
