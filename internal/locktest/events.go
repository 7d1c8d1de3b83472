package locktest

import (
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
	return redlatch.WithObserver(func(e redlatch.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	})
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
		require.Equal(l, []redlatch.EventKind{redlatch.EventAcquired, redlatch.EventLost, redlatch.EventReleased}, kinds)
		require.ErrorIs(l, last.Err, redlatch.ErrLost)
	}},
}
