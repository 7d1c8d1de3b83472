package countertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

// A gauge is what a program makes of events to see how many calls wait. Every counter of a case has one, unless the case has an
// observer of its own.
type gauge struct {
	mu    sync.Mutex
	waits int // those that have begun and not ended
	begun int
	wrong []string
}

// A waiting is what a gauge puts into the context of a call, where the end of the call has to find it.
type waiting struct{ ended bool }

type waitingKey struct{}

// WaitStart counts the call.
func (g *gauge) WaitStart(ctx context.Context, e redlatch.Event) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits++
	g.begun++
	if e.Kind != redlatch.EventWaiting || e.Outcome != "" {
		g.wrong = append(g.wrong, fmt.Sprintf("%v with the outcome %q is told as the beginning of a wait", e.Kind, e.Outcome))
	}
	return context.WithValue(ctx, waitingKey{}, &waiting{})
}

// WaitEnd finds the call that WaitStart has counted.
func (g *gauge) WaitEnd(ctx context.Context, e redlatch.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w, _ := ctx.Value(waitingKey{}).(*waiting)
	if w == nil || w.ended {
		g.wrong = append(g.wrong, fmt.Sprintf("%v ends no wait that has begun, or one that has ended", e.Kind))
		return
	}
	w.ended = true
	g.waits--
	refused := e.Kind == redlatch.EventRefused
	if refused != (e.Outcome != redlatch.OutcomeAcquired) || e.Outcome == "" || refused != (e.Err != nil) {
		g.wrong = append(g.wrong, fmt.Sprintf("%v has the outcome %q and the error %v", e.Kind, e.Outcome, e.Err))
	}
}

// Observe is told no beginning and no end of a wait.
func (g *gauge) Observe(_ context.Context, e redlatch.Event) {
	switch e.Kind {
	case redlatch.EventWaiting, redlatch.EventAcquired, redlatch.EventRefused, redlatch.EventOpened:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.wrong = append(g.wrong, fmt.Sprintf("%v is told as what has nothing to do with a wait", e.Kind))
	}
}

// check requires that every wait that has begun has ended once.
func (g *gauge) check(l *lab) {
	l.Helper()
	redistest.Eventually(l, "the observer is told of the end of every wait", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.waits == 0
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Empty(l, g.wrong)
}
