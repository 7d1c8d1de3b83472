package counter

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/settings"
)

// An Operation has a lane and a number for one script.
type Operation struct {
	Wake scripts.Wake
	Call lane.Call

	drawn   time.Time // when Call had its number
	counter *Counter
	err     error // why there is no lane: it becomes the error of the call
}

// Begin begins what GiveBack ends. It minds the end of ctx no more than that does.
func (c *Counter) Begin(ctx context.Context) Operation {
	return c.begin(c.WakeWithin(ctx, c.defaults.ReleaseTimeout))
}

func (c *Counter) begin(wake scripts.Wake, err error) Operation {
	if err != nil {
		return Operation{err: err}
	}
	return Operation{Wake: wake, Call: c.Session.BorrowLane(c.Key), drawn: time.Now(), counter: c}
}

// Change does something once. When ctx ends before the outcome is known the error matches ErrUncertain, and the
// operation is fenced in the background: it takes effect before the fence, or never.
func Change[R any](ctx context.Context, c *Counter, build func(wake scripts.Wake, call lane.Call) scripts.Command[R]) (R, error) {
	return ChangeThen(ctx, c, nil, build, nil)
}

// ChangeThen is Change with the settings of the call; nil: those of New. If there is an over, it is called when the
// operation cannot take effect any more: before ChangeThen returns, unless a copy of its command may still be on its way.
func ChangeThen[R any](ctx context.Context, c *Counter, set *settings.Settings,
	build func(wake scripts.Wake, call lane.Call) scripts.Command[R], over func()) (reply R, err error) {
	if set == nil {
		set = c.defaults
	}
	op := c.begin(c.wakeFor(ctx, set.OutageFor(false)))
	if op.err != nil {
		if over != nil {
			over()
		}
		return reply, op.err
	}
	cmd := build(op.Wake, op.Call)
	limit := delivery.Limit{Outage: set.OutageFor(false), Memory: resendWithin}
	returned := false
	defer raise.Unless(&returned, func() { // a hook of the client may panic on this goroutine, and the lane would be lent for ever
		go resolve(op, cmd, inDoubt(op), false, nil, over)
	})
	reply, receipt, err := delivery.Deliver(ctx, c.Session.Dispatch, cmd, limit)
	if unchanged(reply, receipt, err) {
		reply, err = bar(ctx, op, reply, receipt, limit.Outage)
	}
	returned = true
	return ended(op, cmd, reply, receipt, err, false, nil, over)
}

// GiveBack is Change for what has to happen, like the release of permits: it ignores the end of ctx, has the release
// timeout as its limit, and what is in doubt by then is carried through in the background. It is called often, so it takes
// the command rather than a function that builds it.
func GiveBack[R any](ctx context.Context, op Operation, cmd scripts.Command[R]) (R, error) {
	return giveBack(ctx, op, cmd, nil)
}

// giveBack has how settle what is in doubt; nil carries the command itself through.
func giveBack[R any](ctx context.Context, op Operation, cmd scripts.Command[R], how settling[R]) (reply R, err error) {
	if op.err != nil {
		return reply, op.err
	}
	c := op.counter
	limit := delivery.Limit{Outage: c.defaults.ReleaseTimeout, Total: c.defaults.ReleaseTimeout, Stubborn: true, Memory: resendWithin}
	returned := false
	defer raise.Unless(&returned, func() { go resolve(op, cmd, inDoubt(op), true, how, nil) }) // as in ChangeThen
	reply, receipt, err := delivery.Within(ctx, c.Session.Dispatch, cmd, limit)
	if unchanged(reply, receipt, err) {
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), receipt.Sent.Add(limit.Total))
		defer cancel()
		reply, err = bar(ctx, op, reply, receipt, limit.Outage)
	}
	returned = true
	return ended(op, cmd, reply, receipt, err, true, how, nil)
}

// unchanged tells whether an operation has answered that it found nothing to do while a copy of its command may still be
// on its way. The server does not remember such an answer, so the copy could do something after it.
func unchanged[R any](reply R, receipt delivery.Receipt, err error) bool {
	done, is := any(reply).(bool)
	return err == nil && receipt.Doubt && is && !done
}

// bar makes such an answer final, or learns that the copy has been executed meanwhile, and then that is the answer.
func bar[R any](ctx context.Context, op Operation, reply R, receipt delivery.Receipt, outage time.Duration) (R, error) {
	c := op.counter
	took, _, err := delivery.Deliver(ctx, c.Session.Dispatch, lane.Fence(c.Key, next(op.Call)), delivery.Limit{Outage: outage})
	if err != nil {
		return reply, &delivery.Failure{Err: err, Doubt: true, Sent: receipt.Sent}
	}
	if took {
		reply = any(true).(R)
	}
	return reply, nil
}

// A settling makes the attempt to settle an operation that has to take effect.
type settling[R any] func(op Operation, cmd scripts.Command[R]) func(context.Context) error

// ended is how an operation came out. In doubt it is settled in the background: one that is owed by how, or by being carried
// through where how is nil; any other by a fence. over, if there is one, is called after that.
func ended[R any](op Operation, cmd scripts.Command[R], reply R, receipt delivery.Receipt, err error, owed bool, how settling[R], over func()) (R, error) {
	c := op.counter
	if err == nil && !receipt.Doubt {
		op.settled(over)
		return reply, nil
	}
	if err == nil { // a copy of the command may still be on its way
		go c.settle(receipt.Sent, c.fence(op.Call), func() { op.settled(over) })
		return reply, nil
	}
	failure := delivery.AsFailure(err)
	if !failure.Doubt {
		op.settled(over)
		return reply, c.broken(err)
	}
	go resolve(op, cmd, failure, owed, how, over)
	return reply, fmt.Errorf("%w: %s %q: it is settled in the background: %w", errs.Uncertain, c.noun, c.Name, err)
}

// inDoubt is the failure of an operation of which nothing is known but that it has begun.
func inDoubt(op Operation) *delivery.Failure { return &delivery.Failure{Doubt: true, Sent: op.drawn} }

// resolve settles an operation in doubt.
func resolve[R any](op Operation, cmd scripts.Command[R], failure *delivery.Failure, owed bool, how settling[R], over func()) {
	c := op.counter
	_, known := delivery.Result(failure, cmd)
	switch {
	case owed: // also when it is known: the last send may have ended without being executed
		attempt := carry(c, cmd, op.Call, op.drawn)
		if how != nil {
			attempt = how(op, cmd)
		}
		c.settle(op.drawn, attempt, func() { op.settled(over) })
	case known:
		op.settled(over)
	default:
		c.settle(failure.Sent, c.fence(op.Call), func() { op.settled(over) })
	}
}

func (op Operation) settled(over func()) {
	op.counter.Session.ReturnLane(op.counter.Key, op.Call)
	if over != nil {
		over()
	}
}
