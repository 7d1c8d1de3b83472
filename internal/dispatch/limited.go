package dispatch

import (
	"context"
	"time"
)

// A limited context is for a command that runs on the caller's goroutine and must not keep the caller for
// longer than a certain time. It has the values of another one. The client looks at its end while it waits
// for a connection, which may take the dial time-out several times over, and the dispatcher while the command
// is queued.
type limited struct {
	values context.Context
	*ending
}

func (l limited) Value(key any) any { return l.values.Value(key) }

// An ending is where limited contexts end. Those that begin within a sharing of it have the same one: a timer
// for each command would cost a lone caller five allocations more.
type ending struct {
	begun time.Time
	limit time.Duration
	done  chan struct{}
}

// sharing is the part of the limit by which a context ends too early at most.
const sharing = 10

// Limit returns a context that has the values of ctx, but not its end: it ends after limit, or a little
// sooner.
func (d *Dispatcher) Limit(ctx context.Context, limit time.Duration, now time.Time) context.Context {
	var latest []*ending
	if l := d.endings.Load(); l != nil {
		latest = *l
	}
	for _, e := range latest {
		if e.limit == limit && e.shared(now) {
			return limited{ctx, e}
		}
	}
	e := &ending{begun: now, limit: limit, done: make(chan struct{})}
	time.AfterFunc(limit, func() { close(e.done) })
	shared := []*ending{e} // with those of other limits, which the primitives of a client may have
	for _, other := range latest {
		if other.shared(now) {
			shared = append(shared, other)
		}
	}
	d.endings.Store(&shared)
	return limited{ctx, e}
}

func (e *ending) shared(now time.Time) bool { return now.Sub(e.begun) <= e.limit/sharing }

func (e *ending) Deadline() (time.Time, bool) { return e.begun.Add(e.limit), true }
func (e *ending) Done() <-chan struct{}       { return e.done }

func (e *ending) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
