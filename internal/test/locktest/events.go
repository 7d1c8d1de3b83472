package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// A recorder is an observer that keeps what it is told of ends, of waits and of holds.
type recorder struct {
	mu     sync.Mutex
	events []redlatch.Event
}

func (r *recorder) option() redlatch.Option {
	return redlatch.WithObserver(redlatch.ObserverFunc(r.see))
}

func (r *recorder) see(_ context.Context, e redlatch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind != redlatch.EventWaiting && e.Kind != redlatch.EventRenewed {
		r.events = append(r.events, e)
	}
}

func (r *recorder) all() []redlatch.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// kinds are the kinds so far, and the last event.
func (r *recorder) kinds() (kinds []redlatch.EventKind, last redlatch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		kinds = append(kinds, e.Kind)
		last = e
	}
	return kinds, last
}

// A gauge is what a program makes of events to see how many holds there are. Every lock of a case has one.
type gauge struct {
	mu    sync.Mutex
	holds map[string]int // by owner: of composites, which have none, all together
	first int            // those that are no re-entries
	waits int            // those that have begun and not ended
	wrong []string
}

func (g *gauge) option() redlatch.Option { return redlatch.WithObserver(g) }

// A waiting is what a gauge puts into the context of a call, where the end of the call has to find it.
type waiting struct{ ended bool }

type waitingKey struct{}

// WaitStart counts the call.
func (g *gauge) WaitStart(ctx context.Context, e redlatch.Event) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waits++
	if e.Kind != redlatch.EventWaiting {
		g.wrong = append(g.wrong, fmt.Sprintf("%v is told as the beginning of a wait", e.Kind))
	}
	return context.WithValue(ctx, waitingKey{}, &waiting{})
}

// WaitEnd finds the call that WaitStart has counted.
func (g *gauge) WaitEnd(ctx context.Context, e redlatch.Event) {
	g.mu.Lock()
	w, _ := ctx.Value(waitingKey{}).(*waiting)
	switch {
	case w == nil || w.ended:
		g.wrong = append(g.wrong, fmt.Sprintf("%v ends no wait that has begun, or one that has ended", e.Kind))
	default:
		w.ended = true
		g.waits--
	}
	if (e.Kind == redlatch.EventAcquired) != (e.Outcome == redlatch.OutcomeAcquired || e.Outcome == redlatch.OutcomeReentered) || e.Outcome == "" {
		g.wrong = append(g.wrong, fmt.Sprintf("%v has the outcome %q", e.Kind, e.Outcome))
	}
	if (e.Kind == redlatch.EventAcquired) != (e.Path != "") || e.Reentry != (e.Outcome == redlatch.OutcomeReentered) {
		g.wrong = append(g.wrong, fmt.Sprintf("%v with the outcome %q has the path %q", e.Kind, e.Outcome, e.Path))
	}
	g.mu.Unlock()
	g.see(ctx, e)
}

// Observe counts the ends of holds.
func (g *gauge) Observe(ctx context.Context, e redlatch.Event) {
	if (e.Kind == redlatch.EventLost) != (e.Reason != "") {
		g.mu.Lock()
		g.wrong = append(g.wrong, fmt.Sprintf("%v has the reason %q", e.Kind, e.Reason))
		g.mu.Unlock()
	}
	g.see(ctx, e)
}

func (g *gauge) see(_ context.Context, e redlatch.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change := 0
	switch e.Kind {
	case redlatch.EventAcquired:
		change = 1
	case redlatch.EventReleased, redlatch.EventLost, redlatch.EventForgotten, redlatch.EventLeft:
		change = -1
	default:
		return
	}
	if g.holds == nil {
		g.holds = map[string]int{}
	}
	g.holds[e.Owner] += change
	if !e.Reentry {
		g.first += change
	}
	if g.holds[e.Owner] < 0 || g.first < 0 {
		g.wrong = append(g.wrong, fmt.Sprintf("%v of %q without an acquisition, or told twice", e.Kind, e.Owner))
	}
	if g.holds[e.Owner] == 0 {
		delete(g.holds, e.Owner)
	}
}

// check requires that every acquisition was followed by one end.
func (g *gauge) check(l *lab) {
	l.Helper()
	l.eventually("the observer is told of the end of every wait and hold", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.holds) == 0 && g.first == 0 && g.waits == 0
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Empty(l, g.wrong)
}

var eventCases = []trial{
	{"an observer is told of what happens", nil, func(l *lab) {
		var seen recorder
		lock := l.lock(seen.option())
		hold := l.take(lock, l.ctx)
		kinds, last := seen.kinds()
		require.Equal(l, []redlatch.EventKind{redlatch.EventAcquired}, kinds)
		require.Equal(l, l.name, last.Name)
		require.Equal(l, hold.Owner(), last.Owner)
		require.NoError(l, last.Err)
		l.give(hold)
		kinds, last = seen.kinds()
		require.Equal(l, []redlatch.EventKind{redlatch.EventAcquired, redlatch.EventReleased}, kinds)
		require.NoError(l, last.Err)
	}},
	{"an observer is told of a refusal and why", nil, func(l *lab) {
		var seen recorder
		holder := l.take(l.stranger(), l.ctx)
		l.refused(l.lock(seen.option()), l.ctx)
		_, err := l.lock(seen.option()).Lock(l.ctx, redlatch.WithWait(20*time.Millisecond))
		kinds, last := seen.kinds()
		require.Equal(l, []redlatch.EventKind{redlatch.EventRefused, redlatch.EventRefused}, kinds)
		require.Equal(l, err, last.Err)
		require.GreaterOrEqual(l, last.Duration, 20*time.Millisecond)
		l.give(holder)
	}},
	{"an observer is told of a loss once", nil, func(l *lab) {
		var seen recorder
		hold := l.take(l.lock(seen.option()), l.ctx)
		l.lose()
		require.ErrorIs(l, hold.Unlock(l.ctx), redlatch.ErrLost)
		kinds, last := seen.kinds()
		require.Equal(l, []redlatch.EventKind{redlatch.EventAcquired, redlatch.EventLost}, kinds)
		require.ErrorIs(l, last.Err, redlatch.ErrLost)
	}},
	{"an observer is told of each hold that is lost, once", reentrant, func(l *lab) {
		var (
			seen recorder
			g    gauge
		)
		lock := l.lock(redlatch.WithObserver(redlatch.ObserverFunc(func(ctx context.Context, e redlatch.Event) { seen.see(ctx, e); g.see(ctx, e) })))
		outer := l.take(lock, l.ctx)
		inner := l.take(lock, outer.Context(l.ctx))
		given := l.take(lock, inner.Context(l.ctx))
		l.give(given)
		l.lose()
		require.ErrorIs(l, inner.Unlock(l.ctx), redlatch.ErrLost)
		require.ErrorIs(l, outer.Unlock(l.ctx), redlatch.ErrLost)
		g.check(l)
		var lost []bool
		for _, e := range seen.all() {
			if e.Kind == redlatch.EventLost {
				require.ErrorIs(l, e.Err, redlatch.ErrLost)
				lost = append(lost, e.Reentry)
			}
		}
		require.ElementsMatch(l, []bool{true, false}, lost)
		require.Len(l, seen.all(), 6)
	}},
	{"events tell re-entries from first acquisitions", reentrant, func(l *lab) {
		var seen recorder
		lock := l.lock()
		outer := l.take(lock, l.ctx, seen.option())
		inner := l.take(lock, outer.Context(l.ctx), seen.option())
		l.give(outer, inner)
		var got []string
		for _, e := range seen.all() {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Reentry))
		}
		require.Equal(l, []string{"acquired false", "acquired true", "released false", "released true"}, got)
	}},
}

var clockEventCases = []trial{
	{"a re-entry that its own limit ends is lost, once", bothWatchedAndReentrant, func(l *lab) {
		var seen recorder
		lock := l.lock()
		outer := l.take(lock, l.ctx)
		inner := l.take(lock, outer.Context(l.ctx), redlatch.WithMaxHold(time.Second), seen.option())
		time.Sleep(2 * time.Second)
		require.False(l, inner.Valid())
		require.True(l, outer.Valid())
		_ = inner.Unlock(l.ctx) // a composite whose members are all held says nothing
		l.give(outer)
		kinds, last := seen.kinds()
		require.Equal(l, []redlatch.EventKind{redlatch.EventAcquired, redlatch.EventLost}, kinds)
		require.ErrorIs(l, last.Err, redlatch.ErrLost)
		require.True(l, last.Reentry)
	}},
}
