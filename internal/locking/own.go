package locking

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/baselock"
	"github.com/redlatch/redlatch/internal/settings"
)

// behind is for a try while other calls of this process wait, which it must not overtake. [baselock.ErrOver]
// says that none waits any more.
func behind(ctx context.Context, b *baselock.Base, set *settings.Settings) error {
	refused, err := b.Session.Behind(ctx, b.Line, set.OutageFor(true))
	if _, held := b.Session.Cohorts.HeldSince(b.Line); held || refused {
		return notAcquired(b, 0, "is waited for by others of this process; it "+why(b, -1))
	}
	return cmp.Or(err, baselock.ErrOver)
}

// longBehindOwn is how long a call waits behind one hold of its own process until that is logged.
const longBehindOwn = 10 * time.Second

// WatchOwn logs, once, that a call has waited behind a hold of its own process for long. That may be the
// caller's own hold, and then the caller waits for itself. stop ends the watch.
func WatchOwn(b *baselock.Base, set *settings.Settings) (stop func()) {
	if set.Logger == nil {
		return func() {}
	}
	began := time.Now()
	var over atomic.Bool // a timer may be left that finds it so
	var look func()
	look = func() {
		left := longBehindOwn
		if since, held := b.Session.Cohorts.HeldSince(b.Line); held {
			left -= min(time.Since(since), time.Since(began))
		}
		switch {
		case over.Load():
			return
		case left > 0:
			time.AfterFunc(left, look)
			return
		}
		set.Logger.Warn("redlatch: a call waits for a lock that its own process holds; if the caller is the holder, it waits for itself: "+
			"pass it the context of the hold", "lock.name", b.Name, "lock.primitive", b.Kind.Label,
			"lock.waited", time.Since(began).Round(time.Millisecond))
	}
	timer := time.AfterFunc(longBehindOwn, look)
	return func() {
		over.Store(true)
		timer.Stop()
	}
}
