package permitsemaphore

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	script "github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/settings"
)

// TrySetPermits sets the number of permits of a semaphore that does not exist yet, and reports whether it
// did. One with no permits left does exist. With WithTTL the semaphore disappears after that time, and its
// permits with it. Permits that outlived an earlier semaphore of the name count as taken from the new one.
func (s *Semaphore) TrySetPermits(ctx context.Context, n int64, opts ...redlatch.Option) (bool, error) {
	set, err := s.made().Resolve("TrySetPermits", settings.TTL, opts)
	if err != nil {
		return false, err
	}
	if err := s.made().CheckNumber("TrySetPermits", n); err != nil {
		return false, err
	}
	return counter.ChangeThen(ctx, s.made(), set, func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.TrySet(s.keys, n, set.TTL, wake, call)
	}, nil)
}

// SetPermits sets the total number of permits, including those that are taken, to n, and creates the
// semaphore if it does not exist. No holder loses a permit by it: when more than n are taken,
// AvailablePermits is below zero until enough have come back.
func (s *Semaphore) SetPermits(ctx context.Context, n int64) error {
	if err := s.made().CheckNumber("SetPermits", n); err != nil {
		return err
	}
	_, err := counter.Change(ctx, s.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Set(s.keys, n, wake, call)
	})
	return err
}

// AddPermits changes the number of permits by d, which may be negative, and returns the new number, including
// those that are taken. It creates the semaphore if it does not exist, with d or, with WithPermits, with d
// more than that says.
func (s *Semaphore) AddPermits(ctx context.Context, d int64) (int64, error) {
	if err := counter.CheckChange(d); err != nil {
		return 0, err
	}
	return counter.Change(ctx, s.made(), func(wake scripts.Wake, call lane.Call) scripts.Command[int64] {
		if size := s.made().Size; size != nil {
			return script.AddSized(s.keys, d, *size, wake, call)
		}
		return script.Add(s.keys, d, wake, call)
	})
}

// AvailablePermits returns the number of permits that are free. When the semaphore does not exist it is 0
// or, with WithPermits, the number that the next Acquire sets up.
func (s *Semaphore) AvailablePermits(ctx context.Context) (int64, error) {
	count, err := s.count(ctx)
	return count.Available, err
}

// AcquiredPermits returns the number of permits that are taken and have not expired, 0 when the semaphore
// does not exist.
func (s *Semaphore) AcquiredPermits(ctx context.Context) (int64, error) {
	count, err := s.count(ctx)
	return count.Acquired, err
}

// TotalPermits returns the number of permits, available and taken. When the semaphore does not exist it is
// that of AvailablePermits.
func (s *Semaphore) TotalPermits(ctx context.Context) (int64, error) {
	count, err := s.count(ctx)
	return count.Available + count.Acquired, err
}

func (s *Semaphore) count(ctx context.Context) (script.Count, error) {
	count, err := query(ctx, s, func(wake scripts.Wake) scripts.Command[script.Count] {
		return script.Status(s.keys, wake)
	})
	if err == nil && !count.Exists && s.made().Size != nil {
		count.Available = s.made().Size.Permits
	}
	return count, err
}

// query runs a question. It carries a message, for it puts back what has expired.
func query[R any](ctx context.Context, s *Semaphore,
	build func(wake scripts.Wake) scripts.Command[R]) (reply R, err error) {
	wake, err := s.made().Wake(ctx)
	if err != nil {
		return reply, err
	}
	return counter.Query(ctx, s.made(), build(wake))
}

// Delete removes the semaphore and reports whether there was one. Those who have permits lose them when they
// notice; those who wait go on waiting, because it may be set up again; with WithPermits they set it up
// themselves when they ask the next time, as the next Acquire does.
func (s *Semaphore) Delete(ctx context.Context) (bool, error) {
	return counter.Change(ctx, s.made(), func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Delete(s.keys, call)
	})
}

// Expire makes the semaphore, and all its permits, disappear after ttl, and reports whether there is one.
func (s *Semaphore) Expire(ctx context.Context, ttl time.Duration) (bool, error) {
	if err := counter.CheckTTL(ttl); err != nil {
		return false, err
	}
	return counter.Change(ctx, s.made(), func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Expire(s.keys, ttl, call)
	})
}

// Persist removes the semaphore's TTL, and reports whether it had one.
func (s *Semaphore) Persist(ctx context.Context) (bool, error) {
	return counter.Change(ctx, s.made(), func(_ scripts.Wake, call lane.Call) scripts.Command[bool] {
		return script.Persist(s.keys, call)
	})
}
