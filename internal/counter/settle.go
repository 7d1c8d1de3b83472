package counter

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clock"
	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// The server remembers the last operation of a lane until two minutes after its number was drawn at least.
// Settling has to be over before that, for a command sent later could take effect a second time, and has to
// have some of that time for itself.
const (
	resendWithin  = time.Minute
	settleWithin  = 100 * time.Second
	settleAttempt = 2 * time.Second
	firstPause    = 100 * time.Millisecond
	maxPause      = 2 * time.Second
)

// errForgotten ends a settling that comes too late.
var errForgotten = errors.New("the server may have forgotten by now what it executed")

// forgotten tells whether the server may have forgotten an operation whose number was drawn then. Its memory
// is as old as the number, although the first send may have come long after that; and it goes on while this
// system is suspended.
func forgotten(drawn time.Time) bool { return clock.Now().Sub(clock.Aged(drawn)) > settleWithin }

// SettleFor is settle for what the server does not forget: it goes on for d, or for the usual time if that is
// longer, but not after an answer that no repetition changes.
func (c *Counter) SettleFor(d time.Duration, attempt func(ctx context.Context) error, over func()) {
	c.settle(time.Now().Add(max(d, settleWithin)), attempt, over)
}

// settle calls attempt until it succeeds, with timers in between rather than a goroutine that sleeps, and
// then over. The first call is made here. What has not succeeded by end is logged and left.
func (c *Counter) settle(end time.Time, attempt func(ctx context.Context) error, over func()) {
	start, pause := time.Now(), firstPause
	var again func()
	again = func() {
		ctx, cancel := context.WithTimeout(raise.Background(context.Background(), c.log()), settleAttempt)
		err := attempt(ctx)
		cancel()
		end := end
		if outcome.Final(err) { // a copy of an earlier send is all that is left to wait for
			end = start.Add(min(settleWithin, end.Sub(start)))
		}
		switch {
		case err == nil:
		case errors.Is(err, redis.ErrClosed):
		case time.Until(end) > settleAttempt && !errors.Is(err, errForgotten):
			soon := pause
			pause = min(2*pause, maxPause) // before the timer, whose goroutine goes on with it
			time.AfterFunc(soon, again)
			return
		default:
			c.log().Error("redlatch: an operation could not be settled; whether it took effect is unknown, and what it "+
				"should have given "+
				"back may stay taken: Inspect shows what is there", "error", outcome.Advise(err))
		}
		over()
		e := redlatch.Event{Kind: redlatch.EventSettled, Duration: time.Since(start), Err: err}
		c.happened(context.Background(), e)
	}
	again()
}

// after is the number after call's, which settles it.
func after(call lane.Call) lane.Call {
	call.Seq++
	return call
}

// fence makes sure that a copy of call's command has no effect from now on. It answers what the command has
// answered, and 0 if it had no effect.
func (c *Counter) fence(ctx context.Context, call lane.Call, outage time.Duration) (int64, error) {
	return Send(ctx, c, lane.Fence(c.Key, after(call)), outage)
}

// sendAgain is Send for an attempt at settling. In doubt itself it does not outlast a suspension of this
// system: whether the server may have forgotten the operation meanwhile is looked at before the next attempt.
func sendAgain[R any](ctx context.Context, c *Counter, cmd scripts.Command[R]) (R, error) {
	reply, _, err := delivery.Deliver(ctx, c.Session.Dispatch, cmd,
		delivery.Limit{Outage: settleAttempt, Memory: settleAttempt})
	return reply, err
}
