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
	err     error                           // why there is no lane: it becomes the error of the call
	owed    bool                            // it has to happen, so it ignores the end of its caller's context
	settle  func(ctx context.Context) error // settles it in doubt, if it is owed; nil: it is carried through
	over    func()                          // called when it cannot take effect any more; may be nil
}

// Begin begins what GiveBack ends. It minds the end of ctx no more than that does.
func (c *Counter) Begin(ctx context.Context) Operation {
	op := c.begin(c.WakeWithin(ctx, c.defaults.ReleaseTimeout))
	op.owed = true
	return op
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
	return ChangeThen(ctx, c, c.defaults, build, nil)
}

// ChangeThen is Change with the settings of the call. If there is an over, it is called when the operation cannot take
// effect any more: before ChangeThen returns, unless a copy of its command may still be on its way.
func ChangeThen[R any](ctx context.Context, c *Counter, set *settings.Settings,
	build func(wake scripts.Wake, call lane.Call) scripts.Command[R], over func()) (reply R, err error) {
	outage := set.OutageFor(false)
	op := c.begin(c.wakeFor(ctx, outage))
	if op.err != nil {
		if over != nil {
			over()
		}
		return reply, op.err
	}
	op.over = over
	return do(ctx, op, build(op.Wake, op.Call), delivery.Limit{Outage: outage, Memory: resendWithin})
}

// GiveBack is Change for what has to happen, like the release of permits: it ignores the end of ctx, has the release
// timeout as its limit, and what is in doubt by then is carried through in the background. It is called often, so it takes
// the command rather than a function that builds it.
func GiveBack[R any](ctx context.Context, op Operation, cmd scripts.Command[R]) (reply R, err error) {
	if op.err != nil {
		return reply, op.err
	}
	limit := op.counter.defaults.ReleaseTimeout
	return do(ctx, op, cmd, delivery.Limit{Outage: limit, Total: limit, Stubborn: true, Memory: resendWithin})
}

func do[R any](ctx context.Context, op Operation, cmd scripts.Command[R], limit delivery.Limit) (reply R, err error) {
	returned := false
	defer raise.Unless(&returned, func() { // a hook of the client may panic on this goroutine, and the lane would be lent for ever
		go resolve(op, cmd, &delivery.Failure{Doubt: true, Sent: op.drawn})
	})
	deliver := delivery.Deliver[R]
	if op.owed {
		deliver = delivery.Within[R]
	}
	reply, receipt, err := deliver(ctx, op.counter.Session.Dispatch, cmd, limit)
	if unchanged(reply, receipt, err) {
		if op.owed {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), receipt.Sent.Add(limit.Total))
			defer cancel()
		}
		reply, err = bar(ctx, op, reply, receipt, limit.Outage)
	}
	returned = true
	return ended(op, cmd, reply, receipt, err)
}

// unchanged tells whether an operation has answered that it found nothing to do while a copy of its command may still be
// on its way. The server does not remember such an answer, so the copy could do something after it.
func unchanged[R any](reply R, receipt delivery.Receipt, err error) bool {
	done, is := any(reply).(bool)
	return err == nil && receipt.Doubt && is && !done
}

// bar makes such an answer final, or learns that the copy has been executed meanwhile, and then that is the answer.
func bar[R any](ctx context.Context, op Operation, reply R, receipt delivery.Receipt, outage time.Duration) (R, error) {
	took, err := op.counter.fenceWithin(ctx, op.Call, outage)
	if err != nil {
		return reply, &delivery.Failure{Err: err, Doubt: true, Sent: receipt.Sent}
	}
	if took {
		reply = any(true).(R)
	}
	return reply, nil
}

// ended is how an operation came out. In doubt it is settled in the background.
func ended[R any](op Operation, cmd scripts.Command[R], reply R, receipt delivery.Receipt, err error) (R, error) {
	c := op.counter
	if err == nil && !receipt.Doubt {
		op.settled()
		return reply, nil
	}
	if err == nil { // a copy of the command may still be on its way
		go c.settle(receipt.Sent, c.fence(op.Call), op.settled)
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

// resolve settles an operation in doubt.
func resolve[R any](op Operation, cmd scripts.Command[R], failure *delivery.Failure) {
	c := op.counter
	_, known := delivery.Result(failure, cmd)
	switch {
	case op.owed: // also when it is known: the last send may have ended without being executed
		attempt := op.settle
		if attempt == nil {
			attempt = carry(c, cmd, op.Call)
		}
		c.settle(op.drawn, inTime(op.drawn, attempt), op.settled)
	case known:
		op.settled()
	default:
		c.settle(failure.Sent, c.fence(op.Call), op.settled)
	}
}

func (op Operation) settled() {
	op.counter.Session.ReturnLane(op.counter.Key, op.Call)
	if op.over != nil {
		op.over()
	}
}
