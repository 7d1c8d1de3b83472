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

// ErrOver tells that the tenant was over before the re-entry was: a fresh tenure is to be made.
var ErrOver = errors.New("redlatch: the hold in the context is over")

// Reenter adds a hold to the tenant.
func (c *Tenant) Reenter(ctx context.Context, set *settings.Settings, try bool) (*Hold, error) {
	t := c.Tenure
	if err := t.LockSend(ctx); err != nil {
		return nil, err
	}
	t.Mu.Lock()
	over, want := t.LostLocked() != nil || c.Live == 0, c.countedLocked()+1
	t.Mu.Unlock()
	if over {
		t.UnlockSend()
		return nil, ErrOver
	}
	lease := c.leaseWithin(time.Now(), set.FirstLease())
	cmd := t.reentry(want, lease)
	returned := false
	// A hook of the client may panic here, and nothing else of the tenure could be sent.
	defer raise.Unless(&returned, func() {
		t.Doubted()
		t.UnlockSend()
	})
	reply, receipt, err := delivery.Deliver(ctx, t.Base.Session.Dispatch, cmd,
		delivery.Limit{Outage: set.OutageFor(try)})
	returned = true
	if err != nil {
		if failure := delivery.AsFailure(err); failure.Doubt {
			lockorder.Gone[lockorder.Send](t)
			go t.settleReentry(failure, cmd) // gives the send lock back
		} else {
			t.UnlockSend()
		}
		return nil, err
	}
	defer t.UnlockSend()
	if receipt.Doubt {
		t.Doubted()
	}
	if !reply.Held {
		return nil, t.Lose(watchdog.NotOwned, nil)
	}
	return c.reentered(set, receipt.Sent, lease, reply.Token, c.groupIn(ctx))
}

// reentry is the script by which this kind re-enters.
func (t *Tenure) reentry(holds int32, lease time.Duration) scripts.Command[scripts.Attempt] {
	if tokens := t.Base.Kind.Tokens; tokens != nil {
		s := t.Subject(holds, lease)
		if s.Token == t.Tenant.first.Token() { // there is none left
			s.Token++
		}
		return tokens.Reenter(s)
	}
	return scripts.Map(t.Base.Kind.Recount(t.Subject(holds, lease)), func(held bool) scripts.Attempt {
		return scripts.Attempt{Held: held}
	})
}

// reentered hands out the hold of a re-entry that the server has confirmed.
func (c *Tenant) reentered(set *settings.Settings, sent time.Time, lease time.Duration, issued int64,
	group int32) (*Hold, error) {
	t := c.Tenure
	h := &Hold{Tenant: c, Hold: life.Hold{Since: watchdog.MomentOf(sent)}, Renewed: set.Lease == 0, Group: group}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	switch lost := t.LostLocked(); {
	case lost != nil: // meanwhile, by the clock; the other holds' releases delete the field
		return nil, lost
	case c.Live == 0: // the others were given back without waiting for this; settling deletes the field
		return nil, ErrOver
	}
	c.Live++
	c.drawLocked(issued)
	c.AddLocked(h)
	t.renewing = t.renewing || h.Renewed
	c.shareLocked()
	trusted := watchdog.Trusted(sent, lease)
	h.limitLocked(set, trusted)
	t.agreeLocked(trusted)
	return h, nil
}
