package observe

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/settings"
)

// askWithin is how long an alarm takes at most, before it tells.
const askWithin = time.Second

// An alarm is told of while something lasts for longer than a limit: once at most, and each topic once in a pause. It has a timer
// and no goroutine: what it does is done on that of the timer.
type alarm struct {
	of     Subject
	event  settings.Event // what it tells, but for what is found out
	logger *slog.Logger   // for a panic of a hook
	ring   func(ctx context.Context, a *alarm)

	mu     sync.Mutex
	timer  *time.Timer
	cancel context.CancelFunc // of the context with which it rings; nil until then
	over   bool
}

// after has the alarm ring after a limit, unless stop comes first. ring gets a context that ends with ctx, with stop, and in time.
func (a *alarm) after(ctx context.Context, limit time.Duration) *alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(limit, func() { a.due(ctx) })
	return a
}

func (a *alarm) due(ctx context.Context) {
	ctx, cancel := context.WithTimeout(raise.Background(ctx, a.logger), askWithin)
	defer cancel()
	if a.begin(cancel) {
		a.ring(ctx, a)
	}
}

// begin tells whether the alarm rings now. Where another one of its topic has done so just now, its timer is set anew.
func (a *alarm) begin(cancel context.CancelFunc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return false
	}
	if left := lately.turn(a.topic(), time.Now()); left > 0 {
		a.timer.Reset(left)
		return false
	}
	a.cancel = cancel
	return true
}

// topic is what the alarm is about.
func (a *alarm) topic() topic {
	t := topic{kind: a.event.Kind, primitive: a.event.Primitive, name: a.event.Name}
	for _, s := range a.of.Sessions() {
		if s != nil {
			t.client = s.ID
			return t
		}
	}
	t.client = fmt.Sprintf("%p", a.of) // it belongs to no client
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
