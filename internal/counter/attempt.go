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
			k.answered(false, false)
			return got, receipt, err
		}
	}
	call := c.Session.BorrowLane(c.Key)
	take, drawn, returned := try.Take(wake, k.called(), call), clock.Now(), false
	// A hook of the client may panic on this goroutine, and the lane would be lent for ever
	defer raise.Unless(&returned, func() { c.revoke(try, take, call, &delivery.Failure{Doubt: true, Sent: drawn}, k) })
	limit := delivery.Limit{Outage: outage, Patient: true}
	if try.Unstored() == 0 {
		limit.Memory = resendWithin
	}
	got, receipt, err = delivery.Deliver(ctx, c.Session.Dispatch, take, limit)
	// Nil: it is known what it has taken, and a copy of the command cannot take anything any more
	var doubt *delivery.Failure
	switch {
	case err != nil:
		got = lane.Granted{}
		if failure := delivery.AsFailure(err); failure.Doubt {
			doubt = failure
		}
	// A copy that is still on its way may find enough by now, and nothing would give back what it takes
	case receipt.Doubt && !got.Served:
		got, doubt = lane.Granted{Again: -1}, &delivery.Failure{Doubt: true, Sent: receipt.Sent}
	case receipt.Doubt && try.Unstored() > 0:
		if _, err = c.fence(ctx, call, outage); err != nil {
			got, doubt = lane.Granted{}, &delivery.Failure{Doubt: true, Sent: receipt.Sent}
		}
	}
	returned = true
	if doubt != nil {
		c.revoke(try, take, call, doubt, k)
		return got, receipt, err
	}
	c.Session.ReturnLane(c.Key, call)
	k.answered(err == nil, got.Served)
	return got, receipt, err
}

// revoke undoes an attempt in doubt in the background, and then returns its lane, and takes its candidate out
// of the process queue.
func (c *Counter) revoke(try Attempt, take scripts.Command[lane.Granted], call lane.Call, doubt *delivery.Failure,
	k *candidate) {
	k.failed()
	over := func() {
		c.Session.ReturnLane(c.Key, call)
		k.leave()
	}
	owed, end := try.Unstored(), doubt.Sent.Add(settleWithin)
	if owed > 0 { // however long ago it was sent: the caller may have been patient for longer than any lane remembers
		end = clock.Now().Add(max(owed, settleWithin))
	}
	undo := func(ctx context.Context) error {
		if owed > 0 {
			if _, err := c.fence(ctx, call, settleAttempt); err != nil {
				return err
			}
		}
		wake, err := c.Wake(ctx)
		if err == nil {
			_, err = sendAgain(ctx, c, try.Undo(wake, after(call)))
		}
		if err == nil && owed == 0 && forgotten(doubt.Sent) { // it would not know what to give back
			return errForgotten
		}
		return err
	}
	go func() {
		if got, known := delivery.Result(doubt, take); known && !got.Served {
			over()
			return
		}
		c.settle(end, undo, over)
	}()
}
