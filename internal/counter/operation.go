package counter

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Build makes the command of an operation in a lane. The answer of the command may be zero, for example 0
// permits or false. Such an answer says one of two things: the operation has changed nothing, or the server
// remembers it in the lane. So when a zero is in doubt, the fence of the operation gives the right answer:
// what the lane remembers, or zero.
type Build[R bool | int64] func(wake scripts.Wake, call lane.Call) scripts.Command[R]

// An operation has a lane and a number for one script.
type operation[R bool | int64] struct {
	counter *Counter
	call    lane.Call
	drawn   time.Time // when call had its number

	owed   Build[R] // what has to happen, so it ignores the end of its caller's context; nil: nothing has to
	settle Build[R] // settles in doubt what is owed; nil: it is carried through
	over   func()   // called when it cannot take effect any more; may be nil
}

func begin[R bool | int64](c *Counter, owed Build[R]) operation[R] {
	return operation[R]{counter: c, call: c.Session.BorrowLane(c.Key), drawn: clock.Now(), owed: owed}
}

// Change does something once. When ctx ends before the outcome is known the error matches ErrUncertain, and
// the operation is fenced in the background: it takes effect before the fence, or never.
func Change[R bool | int64](ctx context.Context, c *Counter, build Build[R]) (R, error) {
	return ChangeThen(ctx, c, c.defaults, build, nil)
}

// ChangeThen is Change with the settings of the call. If there is an over, it is called when the operation
// cannot take effect any more: before ChangeThen returns, unless the outcome is unknown.
func ChangeThen[R bool | int64](ctx context.Context, c *Counter, set *settings.Settings, build Build[R],
	over func()) (R, error) {
	op := begin[R](c, nil)
	op.over = over
	return do(ctx, op, build, delivery.Limit{Outage: set.OutageFor(false), Memory: resendWithin})
}

// GiveBack is Change for what has to happen, like the release of permits: it ignores the end of ctx, has the
// release timeout as its limit, and what is in doubt by then is carried through in the background.
func GiveBack[R bool | int64](ctx context.Context, c *Counter, build Build[R]) (R, error) {
	return giveBack(ctx, c, build, nil)
}

// giveBack is GiveBack. settle is what settles it in doubt, instead of carrying it through; nil: there is
// none.
func giveBack[R bool | int64](ctx context.Context, c *Counter, build, settle Build[R]) (R, error) {
	op, limit := begin(c, build), c.defaults.ReleaseTimeout
	op.settle = settle
	return do(ctx, op, build, delivery.Limit{Outage: limit, Total: limit, Stubborn: true, Memory: resendWithin})
}

// do sends the command of an operation. In doubt it is settled in the background.
func do[R bool | int64](ctx context.Context, op operation[R], build Build[R],
	limit delivery.Limit) (reply R, err error) {
	c, sent, returned := op.counter, false, false
	deliver := delivery.Deliver[R]
	if op.owed != nil {
		deliver = delivery.Within[R]
	}
	var cmd scripts.Command[R]
	// a hook of the client may panic on this goroutine, and the lane would be lent for ever
	defer raise.Unless(&returned, func() {
		go op.resolve(cmd, &delivery.Failure{Doubt: sent, Sent: op.drawn})
	})
	wake, err := c.wake(ctx, limit.Outage, op.owed != nil)
	if err != nil {
		returned = true
		op.finish()
		return reply, err
	}
	cmd, sent = build(wake, op.call), true
	reply, receipt, err := deliver(ctx, c.Session.Dispatch, cmd, limit)
	if nothing := *new(R); err == nil && receipt.Doubt && reply == nothing {
		reply, err = op.final(ctx, receipt, limit)
	}
	returned = true
	if err == nil { // a copy that is still on its way answers the same, or is barred
		op.finish()
		return reply, nil
	}
	failure := delivery.AsFailure(err)
	if !failure.Doubt {
		op.finish()
		return reply, c.broken(err)
	}
	go op.resolve(cmd, failure)
	return reply, fmt.Errorf("%w: %s %q: it is settled in the background: %w", errs.Uncertain, c.kind.Noun(), c.Name,
		outcome.Advise(c.Session.Dialing(err)))
}

// final is the answer of an operation that seems to have changed nothing, while a copy of its command may
// still be on its way. The server does not remember such an answer, so the copy could change something after
// it. The copy is barred, or has been executed by now, and then its answer counts.
func (op operation[R]) final(ctx context.Context, receipt delivery.Receipt, limit delivery.Limit) (reply R, err error) {
	if op.owed != nil {
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

// resolve settles an operation after its command has failed, or after a panic of a client's hook has kept it
// from being sent.
func (op operation[R]) resolve(cmd scripts.Command[R], failure *delivery.Failure) {
	if op.owed != nil { // also when it is known: the last send may have ended without being executed
		op.carryThrough()
		return
	}
	if _, known := delivery.Result(failure, cmd); known || !failure.Doubt {
		op.finish()
		return
	}
	op.counter.settle(failure.Sent.Add(settleWithin), func(ctx context.Context) error {
		_, err := op.counter.fence(ctx, op.call, settleAttempt)
		return err
	}, op.finish)
}

// carryThrough has an operation that is owed take effect, unless a send of it has, and then fences it: one
// that found nothing to do is not remembered, and a copy of it could do something later. It returns after the
// first attempt.
func (op operation[R]) carryThrough() {
	c := op.counter
	c.settle(op.drawn.Add(settleWithin), func(ctx context.Context) error {
		if forgotten(op.drawn) {
			return errForgotten
		}
		wake, err := c.Wake(ctx)
		if err != nil {
			return err
		}
		if op.settle != nil {
			_, err = sendAgain(ctx, c, op.settle(wake, after(op.call)))
			return err
		}
		_, err = sendAgain(ctx, c, op.owed(wake, op.call))
		if err == nil || lane.Stale(err) { // stale: fenced by the attempt before, which heard no reply
			_, err = c.fence(ctx, op.call, settleAttempt)
		}
		return err
	}, op.finish)
}

// GiveBackLater is GiveBack without a caller that waits and could repeat it. So the operation is also tried
// again when it was certainly not executed. GiveBackLater returns after the first attempt.
func GiveBackLater[R bool | int64](c *Counter, build Build[R]) { begin(c, build).carryThrough() }

// finish gives back the lane of an operation that cannot take effect any more.
func (op operation[R]) finish() {
	op.counter.Session.ReturnLane(op.counter.Key, op.call)
	if op.over != nil {
		op.over()
	}
}
