package semaphore

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/semaphore"
)

// Expire makes the semaphore disappear after ttl, and reports whether there is one.
func (s *Semaphore) Expire(ctx context.Context, ttl time.Duration) (bool, error) {
	if ttl < time.Millisecond {
		return false, errs.Wrong("Expire(%v): at least a millisecond; use Delete to remove the semaphore now", ttl)
	}
	return counter.Change(ctx, s.counter, func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Expire(s.counter.Key, ttl, call)
	})
}

// Persist removes the semaphore's TTL, and reports whether it had one.
func (s *Semaphore) Persist(ctx context.Context) (bool, error) {
	return counter.Change(ctx, s.counter, func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Persist(s.counter.Key, call)
	})
}
