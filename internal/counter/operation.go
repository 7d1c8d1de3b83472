package counter

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Build makes the command of an operation in a lane. What the operation answers as a zero has changed nothing, or is
// remembered in the lane.
type Build[R bool | int64] func(wake scripts.Wake, call lane.Call) scripts.Command[R]

// An operation has a lane and a number for one script.
type operation struct {
	counter *Counter
	wake    scripts.Wake
	call    lane.Call
	drawn   time.Time // when call had its number

	owed   bool                            // it has to happen, so it ignores the end of its caller's context
	settle func(ctx context.Context) error // settles it in doubt, if it is owed; nil: it is carried through
	over   func()                          // called when it cannot take effect any more; may be nil
}

func (c *Counter) begin(wake scripts.Wake) operation {
	return operation{wake: wake, call: c.Session.BorrowLane(c.Key), drawn: clock.Now(), counter: c}
}

// Change does something once. When ctx ends before the outcome is known the error matches ErrUncertain, and the
// operation is fenced in the background: it takes effect before the fence, or never.
func Change[R bool | int64](ctx context.Context, c *Counter, build Build[R]) (R, error) {
	return ChangeThen(ctx, c, c.defaults, build, nil)
}

// ChangeThen is Change with the settings of the call. If there is an over, it is called when the operation cannot take
// effect any more: before ChangeThen returns, unless the outcome is unknown.
func ChangeThen[R bool | int64](ctx context.Context, c *Counter, set *settings.Settings, build Build[R], over func()) (reply R, err error) {
	outage, begun := set.OutageFor(false), false
	defer func() {
		if !begun && over != nil { // also when a hook of the client has panicked
			over()
		}
	}()
	wake, err := c.wakeFor(ctx, outage)
	if err != nil {
		return reply, err
	}
	op := c.begin(wake)
	op.over, begun = over, true
	return do(ctx, op, build(op.wake, op.call), delivery.Limit{Outage: outage, Memory: resendWithin})
}

// GiveBack is Change for what has to happen, like the release of permits: it ignores the end of ctx, has the release
// timeout as its limit, and what is in doubt by then is carried through in the background.
func GiveBack[R bool | int64](ctx context.Context, c *Counter, build Build[R]) (R, error) {
	return giveBack(ctx, c, build, nil)
}

// giveBack is GiveBack. settle is what settles it in doubt, instead of carrying it through; nil: there is none.
func giveBack[R bool | int64](ctx context.Context, c *Counter, build, settle Build[R]) (reply R, err error) {
	limit, returned := c.defaults.ReleaseTimeout, false
	defer raise.Unless(&returned, func() { // a hook of the client may panic before the operation has a lane
		later := build
		if settle != nil {
			later = func(wake scripts.Wake, call lane.Call) scripts.Command[R] { return settle(wake, next(call)) }
		}
		go GiveBackLater(c, later)
	})
	wake, err := c.WakeWithin(ctx, limit)
	if returned = true; err != nil {
		return reply, err
	}
	op := c.begin(wake)
	op.owed = true
	if settle != nil {
		op.settle = func(ctx context.Context) error {
			_, err := sendAgain(ctx, c, settle(wake, next(op.call)))
			return err
		}
	}
	return do(ctx, op, build(op.wake, op.call), delivery.Limit{Outage: limit, Total: limit, Stubborn: true, Memory: resendWithin})
}

// do sends the command of an operation. In doubt it is settled in the background.
func do[R bool | int64](ctx context.Context, op operation, cmd scripts.Command[R], limit delivery.Limit) (reply R, err error) {
	c, returned := op.counter, false
	defer raise.Unless(&returned, func() { // a hook of the client may panic on this goroutine, and the lane would be lent for ever
		go resolve(op, cmd, &delivery.Failure{Doubt: true, Sent: op.drawn})
	})
	deliver := delivery.Deliver[R]
	if op.owed {
		deliver = delivery.Within[R]
	}
	reply, receipt, err := deliver(ctx, c.Session.Dispatch, cmd, limit)
	if nothing := *new(R); err == nil && receipt.Doubt && reply == nothing {
		reply, err = final[R](ctx, op, receipt, limit)
	}
	returned = true
	if err == nil { // a copy that is still on its way answers the same, or is barred
		op.settled()
		return reply, nil
	}
	failure := delivery.AsFailure(err)
	if !failure.Doubt {
		op.settled()
		return reply, c.broken(err)
	}
	go resolve(op, cmd, failure)
	return reply, fmt.Errorf("%w: %s %q: it is settled in the background: %w", errs.Uncertain, c.noun, c.Name, err)
}

// final is the answer of an operation that seems to have changed nothing, while a copy of its command may still be on its way. The
// server does not remember such an answer, so the copy could change something after it. The copy is barred, or has been executed
// by now, and then its answer counts.
func final[R bool | int64](ctx context.Context, op operation, receipt delivery.Receipt, limit delivery.Limit) (reply R, err error) {
	if op.owed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), receipt.Sent.Add(limit.Total))
		defer cancel()
	}
	number, err := op.counter.fence(ctx, op.call, limit.Outage)
	if err != nil {
		return reply, &delivery.Failure{Err: err, Doubt: true, Sent: receipt.Sent}
	}
	switch reply := any(&reply).(type) {
	case *bool:
		*reply = number != 0
	case *int64:
		*reply = number
	}
	return reply, nil
}

// resolve settles an operation in doubt.
func resolve[R bool | int64](op operation, cmd scripts.Command[R], failure *delivery.Failure) {
	c := op.counter
	_, known := delivery.Result(failure, cmd)
	switch {
	case op.owed: // also when it is known: the last send may have ended without being executed
		c.settle(op.drawn.Add(settleWithin), func(ctx context.Context) error {
			switch {
			case forgotten(op.drawn):
				return errForgotten
			case op.settle != nil:
				return op.settle(ctx)
			}
			return carry(ctx, op, cmd)
		}, op.settled)
	case known:
		op.settled()
	default:
		c.settle(failure.Sent.Add(settleWithin), func(ctx context.Context) error {
			_, err := c.fence(ctx, op.call, settleAttempt)
			return err
		}, op.settled)
	}
}

func (op operation) settled() {
	op.counter.Session.ReturnLane(op.counter.Key, op.call)
	if op.over != nil {
		op.over()
	}
}
