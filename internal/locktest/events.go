package locktest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
)

// A recorder is an observer that keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	events []redlatch.Event
}

func (r *recorder) option() redlatch.Option {
	return redlatch.WithObserver(r.see)
}

func (r *recorder) see(e redlatch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
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
	wrong []string
}

func (g *gauge) option() redlatch.Option { return redlatch.WithObserver(g.see) }

func (g *gauge) see(e redlatch.Event) {
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
	l.eventually("the observer is told of the end of every hold", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.holds) == 0 && g.first == 0
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
		lock := l.lock(redlatch.WithObserver(func(e redlatch.Event) { seen.see(e); g.see(e) }))
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
