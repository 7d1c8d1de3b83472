package semaphore

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/semaphore"
	"github.com/redlatch/redlatch/internal/settings"
)

// TrySetPermits sets the number of permits of a semaphore that does not exist yet, and reports whether it
// did. One with no permits left does exist. With WithTTL the semaphore disappears after that time.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int64, opts ...redlatch.Option) (bool, error) {
	set, err := s.made().Resolve("TrySetPermits", settings.TTL, opts)
	if err != nil {
		return false, err
	}
	if err := s.made().CheckNumber("TrySetPermits", n); err != nil {
		return false, err
	}
	return counter.ChangeThen(ctx, s.made(), set, func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.TrySet(s.made().Key, n, set.TTL, wake, call)
	}, nil)
}

// AddPermits changes the number of permits by d and returns the new number. With a negative d it may fall
// below zero; then that many have to be released before a call can acquire again. A semaphore that does not
// exist is created with d or, with WithPermits, with d more than that says.
func (s *Semaphore) AddPermits(ctx context.Context, d int64) (int64, error) {
	if err := counter.CheckChange(d); err != nil {
		return 0, err
	}
	return counter.Change(ctx, s.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
		if s.sized() {
			return script.AddSized(s.made().Key, d, *s.made().Size, wake, call)
		}
		return script.Add(s.made().Key, d, wake, call)
	})
}

// DrainPermits takes all permits that are available and returns their number. If the number is below zero it
// is returned too, and set to zero.
func (s *Semaphore) DrainPermits(ctx context.Context) (int64, error) {
	return counter.Change(ctx, s.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
		if s.sized() {
			return script.DrainSized(s.made().Key, *s.made().Size, wake, call)
		}
		return script.Drain(s.made().Key, call)
	})
}

// AvailablePermits returns the number of permits that are free. When the semaphore does not exist it is 0
// or, with WithPermits, the number that the next Acquire sets up.
func (s *Semaphore) AvailablePermits(ctx context.Context) (int64, error) {
	if s.sized() {
		look, err := counter.Query(ctx, s.made(), lane.Inspect(s.made().Key))
		if err == nil && !look.Exists {
			look.Value = s.made().Size.Permits
		}
		return look.Value, err
	}
	return counter.Query(ctx, s.made(), lane.Read(s.made().Key))
}

// Delete removes the semaphore and reports whether there was one. The calls that wait go on waiting, because
// it may be set up again; with WithPermits they set it up themselves when they ask the next time, as the next
// Acquire does.
func (s *Semaphore) Delete(ctx context.Context) (bool, error) {
	return counter.Change(ctx, s.made(), func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Delete(s.made().Key, call)
	})
}

// Expire makes the semaphore disappear after ttl, and reports whether there is one.
func (s *Semaphore) Expire(ctx context.Context, ttl time.Duration) (bool, error) {
	if err := counter.CheckTTL(ttl); err != nil {
		return false, err
	}
	return counter.Change(ctx, s.made(), func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Expire(s.made().Key, ttl, call)
	})
}

// Persist removes the semaphore's TTL, and reports whether it had one.
func (s *Semaphore) Persist(ctx context.Context) (bool, error) {
	return counter.Change(ctx, s.made(), func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Persist(s.made().Key, call)
	})
}

// Inspect tells whether the semaphore exists, how many permits are available, for how long it lasts, and how
// many calls of this process wait for it. Redis does not know which process has the others.
func (s *Semaphore) Inspect(ctx context.Context) (redlatch.Info, error) {
	return s.made().Inspect(ctx)
}

var _ redlatch.Inspector = (*Semaphore)(nil)
