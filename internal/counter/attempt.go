package counter

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// attempt asks Redis once. What it leaves in doubt is undone in the background. k is nil where it does not
// concern the process queue.
func (c *Counter) attempt(ctx context.Context, try Attempt, outage time.Duration,
	k *candidate) (got lane.Granted, receipt delivery.Receipt, err error) {
	var wake scripts.Wake
	if try.Announces() || k != nil {
		if wake, err = c.wake(ctx, outage, false); err != nil {
			k.unsent()
			return got, receipt, err
		}
	}
	call := c.Session.BorrowLane(c.Key)
	take, drawn, returned := try.Take(wake, k.called(), call), clock.Now(), false
	// A hook of the client may panic on this goroutine, and the lane would be lent for ever
	defer raise.Unless(&returned, func() {
		k.failed()
		go c.revoke(try, take, call, &delivery.Failure{Doubt: true, Sent: drawn}, k)
	})
	limit := delivery.Limit{Outage: outage, Patient: true}
	if !try.Unstored() {
		limit.Memory = resendWithin
	}
	got, receipt, err = delivery.Deliver(ctx, c.Session.Dispatch, take, limit)
	// Nil: it is known what it has taken, and a copy of the command cannot take anything any more
	var doubt *delivery.Failure
	switch {
	case err != nil:
		if failure := delivery.AsFailure(err); failure.Doubt {
			doubt = failure
		}
	case !receipt.Doubt:
	// A copy that is still on its way may find enough by now, and nothing would give back what it takes
	case !got.Served:
		got, doubt = lane.Granted{Again: -1}, &delivery.Failure{Doubt: true, Sent: receipt.Sent}
	case try.Unstored():
		if _, err = c.fence(ctx, call, outage); err != nil {
			doubt = &delivery.Failure{Doubt: true, Sent: receipt.Sent}
		}
	}
	returned = true
	switch {
	case doubt != nil:
		k.failed()
		go c.revoke(try, take, call, doubt, k)
	case err != nil:
		c.Session.ReturnLane(c.Key, call)
		k.unsent()
	default:
		c.Session.ReturnLane(c.Key, call)
		k.answered(got.Served)
	}
	if err != nil {
		got = lane.Granted{}
	}
	return got, receipt, err
}

// revoke undoes an attempt in doubt, returns its lane, and takes its candidate out of the process
// queue.
func (c *Counter) revoke(try Attempt, take scripts.Command[lane.Granted], call lane.Call, doubt *delivery.Failure,
	k *candidate) {
	over := func() {
		c.Session.ReturnLane(c.Key, call)
		k.leave()
	}
	if got, known := delivery.Result(doubt, take); known && !got.Served {
		over()
		return
	}
	// However long ago it was sent: the caller may have been patient for longer than the server remembers
	if try.Unstored() {
		c.SettleFor(try.Owed(), func(ctx context.Context) error {
			if _, err := c.fence(ctx, call, settleAttempt); err != nil {
				return err
			}
			return c.undo(ctx, try, call)
		}, over)
		return
	}
	c.settle(doubt.Sent.Add(settleWithin), func(ctx context.Context) error {
		if err := c.undo(ctx, try, call); err != nil {
			return err
		}
		if forgotten(doubt.Sent) { // it would not know what to give back
			return errForgotten
		}
		return nil
	}, over)
}

// undo gives back what an attempt has taken.
func (c *Counter) undo(ctx context.Context, try Attempt, call lane.Call) error {
	wake, err := c.Wake(ctx)
	if err == nil {
		_, err = sendAgain(ctx, c, try.Undo(wake, after(call)))
	}
	return err
}
