package baselock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/watchdog"
)

// errOver tells that the tenant was over before the re-entry was: a fresh tenure is to be made.
var errOver = errors.New("redlatch: the hold in the context is over")

// reenter adds a hold to the tenant.
func (c *tenant) reenter(ctx context.Context, set *settings.Settings, try bool) (*hold, error) {
	t := c.tenure
	if err := t.lockSend(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	over, want := t.lostLocked() != nil || c.live == 0, c.countedLocked()+1
	t.mu.Unlock()
	if over {
		t.unlockSend()
		return nil, errOver
	}
	lease := c.leaseWithin(time.Now(), set.FirstLease())
	cmd := t.reentry(want, lease)
	returned := false
	// A hook of the client may panic here, and nothing else of the tenure could be sent.
	defer raise.Unless(&returned, func() {
		t.doubted()
		t.unlockSend()
	})
	reply, receipt, err := delivery.Deliver(ctx, t.base.Session.Dispatch, cmd,
		delivery.Limit{Outage: set.OutageFor(try)})
	returned = true
	if err != nil {
		if failure := delivery.AsFailure(err); failure.Doubt {
			lockorder.Gone[lockorder.Send](t)
			go t.settleReentry(failure, cmd) // gives the send lock back
		} else {
			t.unlockSend()
		}
		return nil, err
	}
	defer t.unlockSend()
	if receipt.Doubt {
		t.doubted()
	}
	if !reply.Held {
		return nil, t.lose(watchdog.NotOwned, nil)
	}
	return c.reentered(set, receipt.Sent, lease, reply.Token, c.groupIn(ctx))
}

// reentry is the script by which this kind re-enters.
func (t *tenure) reentry(holds int32, lease time.Duration) scripts.Command[scripts.Attempt] {
	if tokens := t.base.Kind.Tokens; tokens != nil {
		s := t.subject(holds, lease)
		if s.Token == t.tenant.first.Token() { // there is none left
			s.Token++
		}
		return tokens.Reenter(s)
	}
	return scripts.Map(t.base.Kind.Recount(t.subject(holds, lease)), func(held bool) scripts.Attempt {
		return scripts.Attempt{Held: held}
	})
}

// leaseWithin keeps a lease asked for at a moment from reaching past the tenant's end.
func (c *tenant) leaseWithin(at time.Time, lease time.Duration) time.Duration {
	end := c.end()
	if end.IsZero() {
		return lease
	}
	return min(lease, max(end.Sub(at), time.Millisecond))
}

// reentered hands out the hold of a re-entry that the server has confirmed.
func (c *tenant) reentered(set *settings.Settings, sent time.Time, lease time.Duration, issued int64,
	group int32) (*hold, error) {
	t := c.tenure
	h := &hold{tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(sent)}, renewed: set.Lease == 0, group: group}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch lost := t.lostLocked(); {
	case lost != nil: // meanwhile, by the clock; the other holds' releases delete the field
		return nil, lost
	case c.live == 0: // the others were given back without waiting for this; settling deletes the field
		return nil, errOver
	}
	c.live++
	c.drawLocked(issued)
	c.addLocked(h)
	t.renewing = t.renewing || h.renewed
	c.shareLocked()
	trusted := watchdog.Trusted(sent, lease)
	h.limitLocked(set, trusted)
	t.agreeLocked(trusted)
	return h, nil
}
