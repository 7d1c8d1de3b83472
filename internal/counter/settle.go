package counter

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

// The server remembers the last operation of a lane until two minutes after its number was drawn at least. Settling has
// to be over before that, for a command sent later could take effect a second time, and has to have some of that time for
// itself.
const (
	resendWithin  = time.Minute
	settleWithin  = 100 * time.Second
	settleAttempt = 2 * time.Second
	firstPause    = 100 * time.Millisecond
	maxPause      = 2 * time.Second
)

// errForgotten ends a settling that comes too late.
var errForgotten = errors.New("the server may have forgotten by now what it executed")

// settle calls attempt until it succeeds, with timers in between rather than a goroutine that sleeps, and then over.
// The first call is made here. When the server cannot be reached until it would have forgotten an operation that was sent
// at that moment, the operation is logged and left.
func (c *Counter) settle(sent time.Time, attempt func(ctx context.Context) error, over func()) {
	c.settleUntil(sent.Add(settleWithin), attempt, over)
}

// SettleFor is settle for what the server does not forget: it goes on for d if that is longer, but not after an answer
// that no repetition changes.
func (c *Counter) SettleFor(d time.Duration, attempt func(ctx context.Context) error, over func()) {
	c.settleUntil(time.Now().Add(max(d, settleWithin)), attempt, over)
}

func (c *Counter) settleUntil(end time.Time, attempt func(ctx context.Context) error, over func()) {
	start, pause := time.Now(), firstPause
	log := session.Logger(c.defaults.Logger).With(c.noun, c.Name)
	var again func()
	again = func() {
		ctx, cancel := context.WithTimeout(raise.Background(context.Background(), log), settleAttempt)
		err := attempt(ctx)
		cancel()
		end := end
		if outcome.Final(err) { // a copy of an earlier send is all that is left to wait for
			end = start.Add(min(settleWithin, end.Sub(start)))
		}
		switch {
		case err == nil:
		case errors.Is(err, redis.ErrClosed):
		case time.Until(end) > settleAttempt:
			soon := pause
			pause = min(2*pause, maxPause) // before the timer, whose goroutine goes on with it
			time.AfterFunc(soon, again)
			return
		default:
			log.Error("redlatch: an operation could not be settled; whether it took effect is unknown, and what it should have given "+
				"back may stay taken: Inspect shows what is there", "error", outcome.Advise(err))
		}
		over()
		c.happened(context.Background(), settings.Event{Kind: settings.Settled, Duration: time.Since(start), Err: err})
	}
	again()
}

// next is the number after call's, which settles it.
func next(call lane.Call) lane.Call {
	call.Seq++
	return call
}

// fence makes sure that a copy of call's command has no effect from now on.
func (c *Counter) fence(call lane.Call) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := c.fenceWithin(ctx, call, settleAttempt)
		return err
	}
}

// fenceWithin is fence, and answers whether the command has had an effect.
func (c *Counter) fenceWithin(ctx context.Context, call lane.Call, outage time.Duration) (took bool, err error) {
	took, _, err = delivery.Deliver(ctx, c.Session.Dispatch, lane.Fence(c.Key, next(call)), delivery.Limit{Outage: outage})
	return took, err
}

// inTime returns attempt with a limit in time: it fails once the server may have forgotten the operation. The server's memory
// is as old as the number of the operation, which was drawn at the moment drawn. The first send may have come long after that.
func inTime(drawn time.Time, attempt func(ctx context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if time.Since(drawn) > settleWithin {
			return errForgotten
		}
		return attempt(ctx)
	}
}

// carry executes cmd, unless a send of it was executed before, and then fences it: an operation that found nothing to do
// is not remembered, and a copy of it could do something later. It has to be inTime.
func carry[R any](c *Counter, cmd scripts.Command[R], call lane.Call) func(context.Context) error {
	fence := c.fence(call)
	return func(ctx context.Context) error {
		_, _, err := delivery.Deliver(ctx, c.Session.Dispatch, cmd, delivery.Limit{Outage: settleAttempt})
		if err != nil && !lane.Stale(err) { // stale: fenced by the attempt before, which heard no reply
			return err
		}
		return fence(ctx)
	}
}

// GiveBackLater is GiveBack for what no caller waits for, who could repeat it: it is tried again also when it certainly was
// not executed. It returns after the first attempt.
func GiveBackLater[R any](c *Counter, build func(wake scripts.Wake, call lane.Call) scripts.Command[R]) {
	op := c.begin(scripts.Wake{}, nil)
	c.settle(op.drawn, inTime(op.drawn, func(ctx context.Context) error {
		wake, err := c.Wake(ctx)
		if err != nil {
			return err
		}
		return carry(c, build(wake, op.Call), op.Call)(ctx)
	}), op.settled)
}
