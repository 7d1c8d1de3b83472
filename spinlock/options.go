package spinlock

import (
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/settings"
)

// WithBackOff sets how a waiter polls: it sleeps for fn(n) before its n-th repetition of the question,
// counted from 1 anew for each wait. A sleep below a millisecond is made one. fn is called by one goroutine
// of a wait at a time, and by several waits at once.
//
// Without the option a waiter sleeps for 1 ms, then each time for twice as long, up to 128 ms, and each sleep
// is shortened at random, to no less than half, so that waiters do not poll in step. Longer sleeps ask Redis
// less often and notice later that the lock is free.
func WithBackOff(fn func(n int64) time.Duration) redlatch.Option {
	return rootapi.Option[redlatch.Option](func(s *settings.Settings) {
		if fn == nil {
			s.Fail("WithBackOff(nil): a function is needed; leave the option out for the default")
		}
		s.Give(settings.BackOff)
		s.BackOff = fn
	})
}
