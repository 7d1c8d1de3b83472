package observe

import (
	"context"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lockorder"
	"github.com/redlatch/redlatch/internal/raise"
)

// askWithin is how long an alarm takes at most, before it tells.
const askWithin = time.Second

// An alarm is told of while something lasts for longer than a limit: once at most, and each topic once in a
// pause. It has a timer and no goroutine: what it does is done on that of the timer.
type alarm struct {
	of     Subject
	event  redlatch.Event // what it tells, but for what is found out
	logger *slog.Logger   // nil: no line
	others string         // the line about the alarms of a minute that have none of their own
	ring   func(ctx context.Context, a *alarm, whole bool)

	mu     lockorder.Mutex[lockorder.Alarm]
	timer  *time.Timer
	cancel context.CancelFunc // of the context with which it rings; nil until then
	over   bool
}

// after has the alarm ring after a limit, unless stop comes first. ring gets a context that ends with ctx,
// with stop, and in time.
func (a *alarm) after(ctx context.Context, limit time.Duration) *alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(limit, func() { a.due(ctx) })
	return a
}

func (a *alarm) due(ctx context.Context) {
	if ctx.Err() != nil {
		return // a call that is about to end
	}
	ctx, cancel := context.WithTimeout(raise.Background(ctx, a.logger), askWithin)
	defer cancel()
	if now, whole := a.begin(cancel); now {
		a.ring(ctx, a, whole)
	}
}

// begin tells whether the alarm rings now, and is whole. Where another one of its topic has done so just now,
// its timer is set anew.
func (a *alarm) begin(cancel context.CancelFunc) (now, whole bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false, false
	}
	var closed func(brief int)
	if logger, line := a.logger, a.others; logger != nil { // without the alarm, which may be over long before
		closed = func(brief int) { logger.Warn(line, "names", brief, "within", pause) }
	}
	left, whole := lately.turn(a.topic(), closed)
	if left > 0 {
		a.timer.Reset(left)
		return false, false
	}
	a.cancel = cancel
	return true, whole
}

// topic is what the alarm is about.
func (a *alarm) topic() topic {
	t := topic{source{a.event.Kind, a.of.Itself()}, a.event.Primitive, a.event.Name}
	for _, s := range a.of.Sessions() {
		if s != nil {
			t.client = s.ID
			break
		}
	}
	return t
}

// stop ends what the alarm is about. It does not wait for one that rings.
func (a *alarm) stop() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.timer.Stop()
	if a.cancel != nil {
		a.cancel()
	}
}

// stopped tells one that rings whether it comes too late.
func (a *alarm) stopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}
