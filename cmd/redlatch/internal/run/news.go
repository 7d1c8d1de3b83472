package run

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
)

// The news are what the library tells of a hold.
type news struct {
	asked   chan redlatch.Event // the first request for it
	failing atomic.Pointer[outage]
}

// An outage is why renewals fail, and since when they do.
type outage struct {
	since time.Time
	err   error // of the last one
}

// listen is an option by which the news of what is taken are known.
func listen() (redlatch.Option, *news) {
	n := &news{asked: make(chan redlatch.Event, 1)}
	return redlatch.WithObserver(redlatch.ObserverFunc(func(_ context.Context, e redlatch.Event) {
		switch e.Kind {
		case redlatch.EventAsked:
			select {
			case n.asked <- e:
			default:
			}
		case redlatch.EventRenewed:
			n.renewed(e)
		}
	})), n
}

func (n *news) renewed(e redlatch.Event) {
	if e.Err == nil {
		n.failing.Store(nil)
		return
	}
	since := time.Now().Add(-e.Duration)
	if before := n.failing.Load(); before != nil {
		since = before.since
	}
	n.failing.Store(&outage{since, e.Err})
}
